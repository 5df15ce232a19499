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
# What LMDB maps is not there any more: reading and writing end with errors, the server does not.
case_files_that_are_cut_off() {
    for file in meta.mdb meta.mdb-lock; do
        fill_by_server
        start_server "$store"
        driver "$store/$file" <<'END'
c.test.docs.find_one()
os.truncate(sys.argv[2], 0)
failed = 0
for i in range(10):
    for run in (lambda: c.test.docs.find_one({"_id": i}), lambda: c.test.docs.insert_one({"_id": 5000 + i})):
        try:
            run()
        except pymongo.errors.OperationFailure:
            failed += 1
assert failed >= 10, failed
deadline = time.time() + 60
while c.admin.command("serverStatus")["ashlar"]["damage"]["writable"]:
    assert time.time() < deadline
    time.sleep(0.1)
END
        ends_with 7
    done
}

# Another store that came to stand under the name is not written into, whoever still serves the old one.
case_a_folder_that_was_moved() {
    fill_by_server
    "$ASHLAR" -s "$store" -q backup "$scratch/copy"
    start_server "$store"
    old_address=$server_address old_pid=$server_pid
    driver <<'END'
c.test.big.insert_many([{"_id": i, "p": b"x" * 20000} for i in range(20)])
END
    mv "$store" "$store.old"
    "$ASHLAR" -s "$scratch/copy" -q backup "$store"
    start_server "$store"
    new_address=$server_address
    driver <<'END'
c.test.big.insert_many([{"_id": 1000 + i, "p": b"N" * 500000} for i in range(60)])
END
    server_address=$old_address
    driver <<'END'
for i in range(60):
    try:
        c.test.big.insert_one({"_id": 2000 + i, "p": b"O" * 500000})
    except pymongo.errors.OperationFailure as error:
        assert "was moved" in str(error), error
    else:
        raise SystemExit("a write was acknowledged")
END
    kill "$old_pid"
    wait "$old_pid" || :
    # The socket in the folder is the new one's.
    a ls >/dev/null
    server_address=$new_address
    driver <<'END'
assert sum(d["p"] == b"N" * 500000 for d in c.test.big.find({"_id": {"$gte": 1000}})) == 60
END
    stop_server
    a check
    "$ASHLAR" -s "$store.old" check
    rm -rf "$store.old" "$scratch/copy"
}

# A folder that is gone takes nothing, and says so.
case_a_folder_that_was_removed() {
    fill_by_server
    start_server "$store"
    driver "$store" <<'END'
import shutil
c.test.docs.insert_one({"_id": "before"})
shutil.rmtree(sys.argv[2])
try:
    c.test.docs.insert_one({"_id": "after"})
except pymongo.errors.OperationFailure as error:
    assert "was moved, removed" in str(error), error
else:
    raise SystemExit("a write was acknowledged")
END
    stop_server
    [ ! -e "$store" ]
}

# The lock is on the folder too: a file less lets nobody in.
case_the_file_lock_is_removed() {
    fill_by_server
    start_server "$store" --no-socket
    rm "$store/lock"
    echo more >"$scratch/more"
    for words in "put $scratch/more" "ls" "check"; do
        expect_status 6 a $words
        grep -q 'is in use' "$scratch/err"
    done
    expect_status 6 "$ASHLAR" -s "$store" check --repair --into "$scratch/repaired"
    driver <<'END'
c.test.docs.insert_one({"_id": "kept"})
END
    stop_server
    a check
    a put "$scratch/more"
}

# Nobody waits for the other end of a pipe.
case_a_pipe_in_the_place_of_a_file() {
    head -c 300000 /dev/urandom >"$scratch/large"
    for file in segments/00000001.seg meta.mdb journal lock reserve; do
        rm -rf "$store" "$scratch/copy"
        a -q put "$scratch/large"
        rm -f "$store/$file"
        mkfifo "$store/$file"
        for words in "check" "cat large" "backup $scratch/copy"; do
            expect_status 7 timeout 60 "$ASHLAR" -s "$store" $words
            grep -q 'pipe\|not a regular file\|damaged' "$scratch/err"
        done
    done
}
run_cases
