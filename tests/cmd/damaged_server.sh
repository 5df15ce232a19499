#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A server whose store is damaged, moved or cut off beneath it: it answers errors, tells of it, and writes nowhere else.
. "$(dirname "$0")/../lib.sh"
python=/usr/bin/python3
$python -c 'import gridfs, pymongo' 2>/dev/null || skip_all "no pymongo"
store=$scratch/store
a() {
    "$ASHLAR" -s "$store" "$@"
}

driver() { # reads a program that finds the client in c
    {
        echo 'import gridfs, os, pymongo, sys, time'
        echo 'c = pymongo.MongoClient(sys.argv[1], directConnection=True, socketTimeoutMS=60000)'
        cat
    } | $python - "mongodb://$server_address/" "$@"
}

fill_by_server() {
    rm -rf "$store"
    start_server "$store"
    driver <<'END'
c.test.docs.insert_many([{"_id": i, "k": "key%d" % i} for i in range(3000)])
gridfs.GridFSBucket(c.test).upload_from_stream("x", b"y" * 1000)
END
    stop_server
}

flip_in_metadata() { # TEXT: one bit of each place where it stands
    $python - "$store/meta.mdb" "$1" <<'END'
import sys
path, text = sys.argv[1], sys.argv[2].encode() + b"\0"
data = bytearray(open(path, "rb").read())
at = data.find(text)
assert at >= 0
while at >= 0:
    data[at + 2] ^= 1
    at = data.find(text, at + 1)
open(path, "r+b").write(data)
END
}

ends_with() { # STATUS: the server of this shell
    kill "$server_pid"
    got=0
    wait "$server_pid" || got=$?
    [ "$got" = "$1" ] || {
        echo "# the server ended with $got" >&2
        cat "$scratch/server.err" >&2
        return 1
    }
}

# Upkeep that gives up has no report; the server that was asked goes on.
case_upkeep_on_a_damaged_row() {
    fill_by_server
    start_server "$store"
    driver <<'END'
c.test.docs.find_one()
END
    flip_in_metadata key1500
    # Who meets it makes the server look.
    driver <<'END'
deadline = time.time() + 60
while c.admin.command("serverStatus")["ashlar"]["damage"]["findings"] == 0:
    assert time.time() < deadline
    try:
        list(c.test.docs.find())
    except pymongo.errors.OperationFailure:
        time.sleep(0.1)
END
    for words in "sweep" "sweep -n" "sweep --uploads 1h"; do
        expect_status 7 a $words
        grep -q 'damaged' "$scratch/err"
    done
    driver <<'END'
for command in ("compact", "validate"):
    try:
        c.test.command(command, "docs")
    except pymongo.errors.OperationFailure:
        pass
assert c.test.docs.find_one({"_id": 1})["k"] == "key1"
END
    ends_with 7
}

case_damage_is_in_the_status() {
    fill_by_server
    start_server "$store"
    driver <<'END'
assert c.admin.command("serverStatus")["ashlar"]["damage"]["findings"] == 0
c.test.docs.find_one()
END
    # Its second half is not there.
    truncate -s $(($(stat -c %s "$store/meta.mdb") / 8192 * 4096)) "$store/meta.mdb"
    driver <<'END'
failed = 0
for i in range(0, 3000, 10):
    try:
        c.test.docs.find_one({"k": "key%d" % i})
    except pymongo.errors.OperationFailure:
        failed += 1
assert failed > 0
deadline = time.time() + 60
while True:
    damage = c.admin.command("serverStatus")["ashlar"]["damage"]
    if damage["findings"] > 0:
        break
    assert time.time() < deadline, damage
    time.sleep(0.1)
assert damage["writable"] is False and "page" in damage["first"], damage
END
    ends_with 7
}
run_cases
