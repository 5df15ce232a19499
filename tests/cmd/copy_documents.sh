#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `ashlar copy --all` and `--collection`: documents with all their types, options, indexes, views; again, interrupted, with conflicts.
. "$(dirname "$0")/../lib.sh"
python=/usr/bin/python3
[ -x $python ] || python=python3
$python -c 'import pymongo' 2>/dev/null || skip_all 'no pymongo'

# Runs what comes on standard input as Python, with `client` (raw documents), `db` and what it needs.
drive() { # URI [ARGUMENT…]
    {
        cat <<'END'
import sys
import bson
import pymongo
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
client = pymongo.MongoClient(sys.argv[1])
raw = CodecOptions(document_class=RawBSONDocument)
db = client["test"]
END
        cat
    } >"$scratch/program.py"
    $python "$scratch/program.py" "$@"
}

# Every type there is, in an order that nobody would choose, and everything that a collection can have.
fill() { # URI
    drive "$1" <<'END'
import datetime
import re
values = [1, bson.Int64(1), 1.0, float("nan"), -0.0, bson.Decimal128("1.50"), "text", "", b"bytes", bson.Binary(b"x" * 16, 4), bson.Binary(b"y", 128),
    bson.ObjectId("0123456789abcdef01234567"), True, None, datetime.datetime(2026, 1, 2), bson.Timestamp(7, 8), bson.Timestamp(0, 0),
    bson.Regex("a.*", "i"), bson.Code("f()"), bson.Code("f()", {"x": 1}), bson.MinKey(), bson.MaxKey(), bson.DBRef("c", 1), {}, [], {"z": 1, "a": [{"b": 2}]}, [1, [2]]]
db.types.insert_many([{"_id": i, "z": 1, "v": v, "a": 2} for i, v in enumerate(values)])
db.command("insert", "types", documents=[{"_id": "names", "$or": 1, "a.b": 1, "": 2}])
db.ids.insert_many([{"_id": v} for v in (1, "1", bson.ObjectId("0123456789abcdef01234567"), {"a": 1, "b": 2}, {"b": 2, "a": 1}, None, b"1", bson.Timestamp(1, 1),
    datetime.datetime(2026, 1, 1), True, 2.5, bson.Decimal128("3"))])
# An empty timestamp that is inserted gets the time; a pipeline can put one there.
db.types.update_one({"_id": 16}, [{"$set": {"v": {"$literal": bson.Timestamp(0, 0)}}}])
capped = db.create_collection("capped", capped=True, size=4096, max=50)
capped.insert_many([{"_id": 1000 - i, "text": "x" * 20} for i in range(80)])
checked = db.create_collection("checked", validator={"n": {"$type": "int"}}, validationLevel="moderate", validationAction="error")
checked.insert_one({"_id": 1, "n": 1})
pymongo.collection.Collection(db, "checked").insert_one({"_id": 2, "n": "refused but for the bypass"}, bypass_document_validation=True)
folded = db.create_collection("folded", collation={"locale": "en", "strength": 2})
folded.insert_many([{"_id": "A", "t": "B"}, {"_id": "c", "t": "D"}])
folded.create_index("t", collation={"locale": "simple"}, unique=True, name="bytes")
folded.create_index("t", name="folds")
db.create_collection("images", changeStreamPreAndPostImages={"enabled": True})
db.create_collection("empty")
many = db.many
many.insert_many([{"_id": i, "n": i % 7, "t": "word %d" % i, "when": datetime.datetime(2090, 1, 1)} for i in range(2500)])
many.create_index([("n", 1), ("t", -1)], name="both")
many.create_index("when", expireAfterSeconds=3600)
many.create_index("t", unique=True, sparse=True)
many.create_index("n", partialFilterExpression={"n": {"$gt": 3}}, name="some")
many.create_index("hid", hidden=True)
db.create_collection("view", viewOn="many", pipeline=[{"$match": {"n": 1}}])
db.create_collection("view_of_view", viewOn="view", pipeline=[{"$project": {"t": 1}}])
db["odd.files"].insert_one({"_id": 1, "no": "file"})
client["other"].things.insert_one({"_id": 1})
db["fs.files"].create_index("metadata.who", name="who")
END
    for name in one two; do
        head -c 400000 /dev/urandom | "$ASHLAR" -s "$1" put --metadata '{"who": "me"}' - $name
    done
}

# Everything that a driver sees, as lines: options, indexes, and each document's bytes in its order.
describe() { # URI
    drive "$1" <<'END'
for name in sorted(set(client.list_database_names()) - {"admin", "local", "config"}):
    for c in sorted(client[name].list_collections(), key=lambda c: c["name"]):
        if c["name"].endswith(".attributes"):
            continue
        print(name, c["name"], c["type"], sorted((k, str(v)) for k, v in c["options"].items()))
        if c["type"] == "view":
            continue
        coll = client[name].get_collection(c["name"], codec_options=raw)
        for i in sorted(client[name][c["name"]].list_indexes(), key=lambda i: i["name"]):
            print("  index", sorted((k, str(v)) for k, v in i.items()))
        documents = [d.raw.hex() for d in coll.find({}, sort=[("_id", 1)] if c["name"].startswith("fs.") else None)]
        for d in documents if not c["name"] == "fs.chunks" else [len(documents)]:
            print("  ", d)
END
}

# Ends with the description of a store that nobody serves.
describe_folder() { # FOLDER
    start_server "$1"
    describe "mongodb://$server_address/"
    stop_server
}

case_everything_between_folders_and_servers() {
    start_server "$scratch/a"
    fill "mongodb://$server_address/"
    describe "mongodb://$server_address/" >"$scratch/expected"
    "$ASHLAR" copy -n --all "mongodb://$server_address/" "$scratch/a2" >"$scratch/would"
    grep -qx 'would copy test.many, which is new: 2500 documents' "$scratch/would"
    [ ! -e "$scratch/a2" ]
    "$ASHLAR" copy --all --verify "mongodb://$server_address/" "$scratch/a2" >"$scratch/said"
    grep -qx 'copied 2596 documents of 12 collections, 0 replaced, 0 there already, 0 failed' "$scratch/said"
    grep -q '^copied 2 files ' "$scratch/said"
    stop_server
    describe_folder "$scratch/a2" >"$scratch/got"
    cmp "$scratch/got" "$scratch/expected" || { diff "$scratch/got" "$scratch/expected" | cut -c 1-200 | head; return 1; }
    "$ASHLAR" -s "$scratch/a2" check
    # From a folder to a server, and from a server to a server.
    start_server "$scratch/a3"
    "$ASHLAR" copy --all "$scratch/a2" "mongodb://$server_address/"
    describe "mongodb://$server_address/" >"$scratch/got"
    cmp "$scratch/got" "$scratch/expected" || { diff "$scratch/got" "$scratch/expected" | cut -c 1-200 | head; return 1; }
    "$ASHLAR" copy --all --json --verify "$scratch/a2" "mongodb://$server_address/" >"$scratch/objects"
    grep '"collection" : "many"' "$scratch/objects" | grep -q '"copied" : 0, "replaced" : 0, "present" : 2500, "failed" : 0, "verified" : 2500'
    fails grep -q '"copied" : [1-9]' "$scratch/objects"
    stop_server
    for name in one two; do
        "$ASHLAR" -s "$scratch/a" cat $name >"$scratch/bytes"
        "$ASHLAR" -s "$scratch/a3" cat $name | cmp - "$scratch/bytes"
    done
    "$ASHLAR" -s "$scratch/a3" check
}

case_chosen_collections() {
    start_server "$scratch/b"
    fill "mongodb://$server_address/"
    "$ASHLAR" copy --collection many --collection=view "$scratch/b" "$scratch/b2" | grep -qx 'copied 2500 documents of 2 collections, 0 replaced, 0 there already, 0 failed'
    describe "mongodb://$server_address/" | sed -n '/^test many /,/^test [^m]/p' | sed '$d' >"$scratch/expected"
    "$ASHLAR" copy -d other --all "$scratch/b" "mongodb://$server_address/third"
    drive "mongodb://$server_address/" <<'END'
assert client["third"].list_collection_names() == ["things"]
END
    expect_status 4 "$ASHLAR" copy --collection many --collection nobody "$scratch/b" "$scratch/b3"
    grep -q 'there is no collection nobody' "$scratch/err"
    expect_status 2 "$ASHLAR" copy --collection fs.files "$scratch/b" "$scratch/b3"
    grep -q 'fs.files is a part of bucket fs' "$scratch/err"
    expect_status 2 "$ASHLAR" copy --all --collection many "$scratch/b" "$scratch/b3"
    expect_status 2 "$ASHLAR" copy --all -b fs "$scratch/b" "$scratch/b3"
    expect_status 2 "$ASHLAR" copy --verify "$scratch/b" "$scratch/b3"
    expect_status 2 "$ASHLAR" copy --collection '' "$scratch/b" "$scratch/b3"
    stop_server
    describe_folder "$scratch/b2" | grep -v '^test view ' >"$scratch/got"
    cmp "$scratch/got" "$scratch/expected"
    "$ASHLAR" -s "$scratch/b2" ls | fails grep -q .
}

case_conflicts() {
    start_server "$scratch/c"
    drive "mongodb://$server_address/" <<'END'
db.c.insert_many([{"_id": i, "v": i} for i in range(40)])
db.u.insert_many([{"_id": 1, "k": 1}, {"_id": 2, "k": 2}])
db.u.create_index("k", unique=True)
db.numbers.insert_one({"_id": 1})
db.create_collection("opts", capped=True, size=4096)
db.create_collection("view", viewOn="c", pipeline=[])
END
    source_pid=$server_pid source_address=$server_address
    start_server "$scratch/c2"
    drive "mongodb://$server_address/" <<'END'
db.c.insert_many([{"_id": i, "v": i if i % 10 else "other"} for i in range(20)] + [{"_id": "mine"}])
db.u.insert_one({"_id": 7, "k": 2})
db.numbers.insert_one({"_id": 1.0})
db.create_collection("opts")
db.create_collection("view", viewOn="u", pipeline=[])
END
    from=mongodb://$source_address/ to=mongodb://$server_address/
    expect_status 3 "$ASHLAR" copy -n --all "$from" "$to"
    expect_status 3 "$ASHLAR" copy --all --verify "$from" "$to"
    grep -qx 'copied 21 documents of 5 collections, 0 replaced, 18 there already, 6 failed' "$scratch/out"
    grep -q 'test.c { "_id" : 10 }: the target has another document of that _id; --replace replaces it' "$scratch/err"
    grep -q 'test.u { "_id" : 2 }: .*duplicate key' "$scratch/err"
    grep -q 'test.opts: the target has it with other options' "$scratch/err"
    grep -q 'test.view: the target has another view of that name' "$scratch/err"
    drive "$to" <<'END'
assert db.c.count_documents({}) == 41 and db.c.find_one({"_id": 10})["v"] == "other"
END
    expect_status 3 "$ASHLAR" copy --replace --all "$from" "$to" # what another index refuses, and other options, stay so
    drive "$to" <<'END'
assert db.c.count_documents({}) == 41 and db.c.count_documents({"v": "other"}) == 0 and db.c.find_one({"_id": "mine"})
assert [d for d in db.u.find(sort=[("_id", 1)])] == [{"_id": 1, "k": 1}, {"_id": 7, "k": 2}]
assert db["view"].count_documents({}) == 41
END
    expect_status 0 "$ASHLAR" copy --collection c "$from" "$to"
    stop_server
    server_pid=$source_pid
    stop_server
    "$ASHLAR" -s "$scratch/c2" check
}

case_killed_copy_goes_on() {
    start_server "$scratch/d"
    drive "mongodb://$server_address/" <<'END'
for n in range(0, 200000, 10000):
    db.many.insert_many([{"_id": i, "text": "x" * 50, "n": i % 100} for i in range(n, n + 10000)])
db.many.create_index("n")
END
    stop_server
    for target in folder served; do
        to=$scratch/d-$target
        "$ASHLAR" -s "$to" init
        [ $target = folder ] || start_server "$to"
        "$ASHLAR" copy --all --json "$scratch/d" "$to" >"$scratch/first" &
        copier=$!
        tries=0
        copied=0
        while [ "${copied:-0}" -lt 20000 ]; do # at first there is no database, and no number
            copied=$("$ASHLAR" -s "$to" --json df 2>/dev/null | sed -n 's/.*"objects" : \([0-9]*\).*/\1/p' | head -n 1)
            tries=$((tries + 1))
            [ $tries -lt 500 ] || return 1
        done
        kill -KILL $copier || true
        wait $copier || true
        "$ASHLAR" copy --all --verify --json "$scratch/d" "$to" >"$scratch/second"
        grep -q '"documents" : 200000.*"replaced" : 0.*"failed" : 0, "verified" : 200000' "$scratch/second"
        if [ ! -s "$scratch/first" ]; then
            fails grep -q '"present" : 0,' "$scratch/second"
        fi
        "$ASHLAR" copy --all "$scratch/d" "$to" | grep -qx 'copied 0 documents of 1 collection, 0 replaced, 200000 there already, 0 failed'
        [ $target = folder ] || stop_server
        "$ASHLAR" -s "$to" check
    done
}

# A damaged document costs itself; the others are copied.
case_damaged_document() {
    start_server "$scratch/e"
    drive "mongodb://$server_address/" <<'END'
import os
db.big.insert_many([{"_id": i, "data": bson.Binary(os.urandom(300000))} for i in range(5)])
END
    stop_server
    printf 'XXXX' | dd of="$scratch/e/segments/00000001.seg" bs=1 seek=700000 conv=notrunc 2>/dev/null
    expect_status 3 "$ASHLAR" copy --all "$scratch/e" "$scratch/e2"
    grep -qx 'copied 4 documents of 1 collection, 0 replaced, 0 there already, 1 failed' "$scratch/out"
    "$ASHLAR" -s "$scratch/e2" check
}

# Batches, not collections, are in memory: documents of 300 MB in an address space of which they take a part.
case_memory_is_bounded() {
    start_server "$scratch/f"
    drive "mongodb://$server_address/" <<'END'
import os
for i in range(60):
    db.big.insert_one({"_id": i, "data": bson.Binary(os.urandom(5000000))})
END
    stop_server
    start_server "$scratch/f2"
    "$ASHLAR" copy --all "$scratch/f" "mongodb://$server_address/" &
    copier=$!
    peak=0
    while kill -0 $copier 2>/dev/null; do
        now=$(sed -n 's/^RssAnon:[^0-9]*\([0-9]*\).*/\1/p' /proc/$copier/status 2>/dev/null || true)
        [ "${now:-0}" -le $peak ] || peak=$now
        sleep 0.02
    done
    wait $copier
    echo "# at most $peak kB"
    [ $peak -lt 120000 ]
    "$ASHLAR" copy --all "$scratch/f" "mongodb://$server_address/" | grep -qx 'copied 0 documents of 1 collection, 0 replaced, 60 there already, 0 failed'
    stop_server
}

run_cases
