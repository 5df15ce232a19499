#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `ashlar copy --tree`: a database of v7files into trees of today; again, in part, damaged; and `--all` of the same.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3
[ -x $python ] || python=python3
$python -c 'import pymongo' 2>/dev/null || skip_all 'no pymongo'

start_server "$scratch/old" || exit 1
$python "$here/v7files.py" "mongodb://$server_address/" || exit 1
stop_server

# Runs what comes on standard input as Python on a store, with `db` and what v7files.py has.
look() { # STORE [DATABASE]
    start_server "$1"
    {
        cat <<'END'
import hashlib, sys
sys.path.insert(0, sys.argv[2])
sys.dont_write_bytecode = True
import pymongo
from v7files import *
db = pymongo.MongoClient(sys.argv[1])[sys.argv[3]]
files, past, contents = db["v7files"], db["v7files.vermongo"], db["v7.fs.files"]
END
        cat
    } >"$scratch/program.py"
    $python "$scratch/program.py" "mongodb://$server_address/" "$here" "${2:-test}"
    stop_server
}

# Everything but the bytes, which are compared with their digests as they are read.
expect_all() { # STORE [DATABASE]
    look "$@" <<'END'
def named(parent):
    return sorted(d["filename"] for d in files.find({"parent": parent}))
assert named("/") == ["docs", "same", "same (2)", "tiny"], named("/")
assert named(oid(1)) == ["a.txt", "large"], named(oid(1))
assert named("other") == ["x"]
a = files.find_one({"_id": oid(2)})
assert list(a) == ["_id", "_version", "parent", "filename", "created_at", "contentType", "length", "sha", "updated_at"], list(a)
assert a["_version"] == 3 and a["sha"] == hashlib.sha256(text(3)).digest() and a["updated_at"] == when(3)
assert [d["sha"] for d in past.find({"_id._id": oid(2)}).sort("_id")] == [hashlib.sha256(text(n)).digest() for n in (1, 2)]
assert past.find_one({"_id": {"_id": oid(2), "_version": 1}})["until"] == when(2)
assert past.find_one({"_version": "deleted:2"})["_id"] == {"_id": oid(3), "_version": 2}
assert contents.find_one({"_id": a["sha"]})["refs"] == [oid(2)]
assert contents.count_documents({"store": "delta"}) == 2
END
}

case_would_copy() {
    "$ASHLAR" copy -n --tree "$scratch/old" "$scratch/new" >"$scratch/would"
    grep -q '^would copy 11 versions .* of 8 entries' "$scratch/would"
    [ ! -e "$scratch/new" ]
}

case_all_trees_and_again() {
    "$ASHLAR" copy --tree "$scratch/old" "$scratch/new" >"$scratch/said"
    grep -q '^copied 11 versions (.*) of 8 entries, 0 there already, 1 renamed, 0 failed$' "$scratch/said"
    expect_all "$scratch/new"
    "$ASHLAR" -s "$scratch/new" check
    [ "$("$ASHLAR" --json copy -n --tree "$scratch/old" "$scratch/new" | wc -l)" = 0 ]
    "$ASHLAR" copy --tree "$scratch/old" "$scratch/new" | grep -q '^copied 0 versions .*, 11 there already, 0 renamed, 0 failed$'
    expect_all "$scratch/new"
}

# From one of today to another one, between servers, into a database of another name.
case_between_servers() {
    start_server "$scratch/new"
    from="mongodb://$server_address/test"
    start_server "$scratch/third"
    to="mongodb://$server_address/other"
    "$ASHLAR" --json copy --tree "$from" "$to" | grep -c '"path"' | grep -qx 8
    stop_server
    expect_all "$scratch/third" other
}

case_one_tree_as_it_is_now() {
    "$ASHLAR" copy --tree --root / --no-history "$scratch/old" "$scratch/now" | grep -q '^copied 6 versions .* of 6 entries'
    look "$scratch/now" <<'END'
assert past.count_documents({}) == 0
assert files.count_documents({"parent": "other"}) == 0
assert files.count_documents({}) == 6
END
    # What was follows when it is asked for.
    "$ASHLAR" copy --tree "$scratch/old" "$scratch/now" | grep -q '^copied 5 versions .*, 6 there already'
}

case_what_is_damaged_is_left_out() {
    "$ASHLAR" copy --all "$scratch/old" "$scratch/damaged" >/dev/null
    look "$scratch/damaged" <<'END'
contents.delete_one({"_id": hashlib.sha1(text(2)).digest()})
END
    expect_status 3 "$ASHLAR" copy --tree "$scratch/damaged" "$scratch/rest"
    grep -q '^copied 10 versions .*, 1 failed$' "$scratch/out"
    grep -q '/docs/a.txt, version 2: content [0-9a-f]*: is missing' "$scratch/err"
    look "$scratch/rest" <<'END'
assert [d["_version"] for d in past.find({"_id._id": oid(2)})] == [1]
assert files.find_one({"_id": oid(2)})["_version"] == 3
END
}

# Document by document it stays what it was.
case_all_leaves_it_as_it_is() {
    "$ASHLAR" copy --all --verify "$scratch/old" "$scratch/same" >/dev/null
    look "$scratch/same" <<'END'
a = files.find_one({"_id": oid(2)})
assert a["sha"] == hashlib.sha1(text(3)).digest()
assert contents.find_one({"_id": a["sha"]})["store"] == "z"
assert files.count_documents({"filename": "same"}) == 2
END
}

case_mistakes() {
    for option in --all --replace --verify '--collection x'; do
        # shellcheck disable=SC2086 # two words
        expect_status 2 "$ASHLAR" copy --tree $option "$scratch/old" "$scratch/never"
    done
    expect_status 2 "$ASHLAR" copy --root / "$scratch/old" "$scratch/never"
    expect_status 2 "$ASHLAR" copy --no-history "$scratch/old" "$scratch/never"
    expect_status 4 "$ASHLAR" copy --tree -d nothing "$scratch/old" "$scratch/never"
}

run_cases
