#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check --repair on stores that were damaged.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
a() {
    "$ASHLAR" -s "$store" "$@"
}
fill() {
    rm -rf "$store" "$scratch"/store.* "$scratch/new" "$scratch/before"
    for i in 1 2 3; do
        head -c 700000 /dev/urandom >"$scratch/file$i"
        a put "$scratch/file$i"
    done
    echo small >"$scratch/file4"
    a put "$scratch/file4"
}
zero() { # FILE AT COUNT
    head -c "$3" /dev/zero | dd of="$store/$1" bs=1 seek="$2" conv=notrunc status=none
}
# repair STATUS LOST…: salvages into $scratch/new; the files that are not named there are whole.
repair() {
    expected=$1
    shift
    rm -rf "$scratch/new" "$scratch/before"
    cp -a "$store" "$scratch/before"
    expect_status "$expected" "$ASHLAR" -s "$store" check --repair --force --into "$scratch/new"
    diff -r "$store" "$scratch/before"
    "$ASHLAR" -s "$scratch/new" check
    for i in 1 2 3 4; do
        case " $* " in
        *" file$i "*) expect_status 4 "$ASHLAR" -s "$scratch/new" cat "file$i" ;;
        *) "$ASHLAR" -s "$scratch/new" cat "file$i" | cmp - "$scratch/file$i" ;;
        esac
    done
}

case_whole_store() {
    fill
    repair 0
}

# In both descriptions of commits, the number of rows of the tree of databases: nothing that LMDB minds.
miscount() {
    for at in 120 4216; do
        zero meta.mdb $at 8
    done
}

case_nothing_is_deleted_on_damaged_metadata() {
    fill
    miscount
    expect_status 7 a check
    grep -q 'meta.mdb, databases: the tree has not as many rows as its root says' "$scratch/out" "$scratch/err"
    expect_status 7 a sweep
    grep -q 'the metadata is damaged' "$scratch/err"
    expect_status 7 a backup "$scratch/copy"
    a cat file1 | cmp - "$scratch/file1"
    repair 0
}

# The server finds it out by itself, tells, goes on reading, writes no more, and says so at its end.
case_a_server_finds_damage() {
    fill
    miscount
    start_server "$store"
    tries=0
    until grep -q 'the metadata is damaged' "$scratch/server.err"; do
        tries=$((tries + 1))
        [ $tries -lt 1200 ]
        sleep 0.05
    done
    a cat file1 | cmp - "$scratch/file1"
    expect_status 7 a put "$scratch/file4"
    status=0
    kill "$server_pid"
    wait "$server_pid" || status=$?
    server_pid=
    [ $status = 7 ]
    repair 0
}

# What is known beside a file is part of it.
case_files_are_counted_once() {
    fill
    rm -rf "$scratch/new"
    a check --repair --force --into "$scratch/new" | grep -q '^salvaged 4 files and 0 documents in '
}

case_superblock_is_damaged() {
    fill
    zero ashlar.store 0 4096
    expect_status 7 "$ASHLAR" -s "$store" check
    repair 0
}

case_payload_is_damaged() {
    fill
    zero segments/00000001.seg 300000 1000
    "$ASHLAR" -s "$store" --json -n check --repair >"$scratch/out" || [ $? = 3 ]
    grep -q '"name" : "file1".*"n" : 1.*"segment" : 1.*"offset" : 266240' "$scratch/out"
    [ "$(grep -c '"kind" : "file"' "$scratch/out")" = 1 ]
    grep -q '"lostCount" : 1' "$scratch/out"
    [ ! -e "$scratch/new" ]
    repair 3 file1
}

# The same by the folder, by its server, and of a backup.
case_check_names_the_file() {
    fill
    zero segments/00000001.seg 300000 1
    damaged='test\.fs: file "file1", chunk 1: a payload with a wrong checksum in segment 00000001 at offset 266240'
    expect_status 7 a check
    grep -qx "$damaged" "$scratch/out"
    expect_status 7 a --json check
    grep -q '"filename" : "file1"' "$scratch/out"
    rm -rf "$scratch/copy"
    expect_status 7 a backup --verify "$scratch/copy"
    grep -q '^test\.fs: file "file1", chunk 1: ' "$scratch/out"
    start_server "$store"
    expect_status 7 a check
    grep -qx "$damaged" "$scratch/out"
    stop_server
}

# What was lost is counted by what it was, not by lines.
case_losses_are_counted() {
    fill
    zero segments/00000001.seg 4096 1400000
    expect_status 3 a check --repair -n
    [ "$(grep -c '^lost: test.fs: file "file[12]", chunk ' "$scratch/out")" = 6 ]
    grep -q '^would salvage 2 files and .*; 2 files (6 chunks damaged or missing) lost$' "$scratch/out"
    grep -q 'not everything could be salvaged: 2 files (6 chunks damaged or missing) lost$' "$scratch/err"
    expect_status 3 a --json check --repair -n
    grep -q '"lostCount" : 2, "lostFiles" : 2, "lostChunks" : 6, "lostDocuments" : 0' "$scratch/out"
    fill
    expect_status 0 a check --repair --force -n
    grep -q '; nothing lost$' "$scratch/out"
}

# What nobody can read can still be thrown away, and the room is free again.
case_damaged_file_is_removed() {
    fill
    zero segments/00000001.seg 300000 1000
    expect_status 7 a cat file1
    a rm file1
    expect_status 4 a cat file1
    a check
    a cat file2 | cmp - "$scratch/file2"
}

# So can a driver, which deletes chunks by itself.
case_damaged_chunks_are_removed_through_a_server() {
    python=/usr/bin/python3
    $python -c 'import gridfs' 2>/dev/null || skip "no pymongo"
    fill
    zero segments/00000001.seg 300000 1000
    start_server "$store"
    $python - "mongodb://$server_address/" <<'END'
import sys
import gridfs
import pymongo
import pymongo.errors

database = pymongo.MongoClient(sys.argv[1]).test
bucket = gridfs.GridFSBucket(database)
damaged = database.fs.files.find_one({"filename": "file1"})["_id"]
try:
    bucket.open_download_stream(damaged).read()
except pymongo.errors.OperationFailure as error:
    assert "segment 00000001" in str(error), error
else:
    raise SystemExit("damaged bytes were read")
bucket.delete(damaged)
assert database.fs.chunks.count_documents({"files_id": damaged}) == 0
END
    stop_server
    a check
}

# delete_files_documents NAME…: as a driver that died amid a deletion.
delete_files_documents() {
    start_server "$store"
    $python -c 'import pymongo, sys
pymongo.MongoClient(sys.argv[1]).test.fs.files.delete_many({"filename": {"$in": sys.argv[2:]}})' "mongodb://$server_address/" "$@"
    stop_server
}

case_sweep_goes_on_behind_damage() {
    python=/usr/bin/python3
    $python -c 'import pymongo' 2>/dev/null || skip "no pymongo"
    fill
    delete_files_documents file1 file2 file3
    sleep 1.1
    # The data of file1's second chunk, the head of file2's first.
    zero segments/00000001.seg 300000 1000
    at=$(grep -abo files_id "$store/segments/00000001.seg" | sed -n 4p | cut -d: -f1)
    zero segments/00000001.seg $((at + 9)) 6
    expect_status 3 a sweep --min-age 1
    grep -q 'a wrong checksum in segment 00000001' "$scratch/err"
    grep -q '6 orphaned chunks of 2 files' "$scratch/out" || {
        cat "$scratch/out" "$scratch/err" >&2
        false
    }
}

# What could not be deleted was not.
case_expired_files_that_are_damaged() {
    fill
    a put --ttl 1 --name short "$scratch/file1"
    a put --ttl 1 --name brief "$scratch/file2"
    at=$(grep -abo files_id "$store/segments/00000001.seg" | sed -n 10p | cut -d: -f1)
    zero segments/00000001.seg $((at + 9)) 6
    sleep 1.5
    expect_status 3 a sweep
    grep -q '1 expired' "$scratch/out"
    grep -q '1 expired file could not be deleted' "$scratch/err"
    # Expired, it is not listed; but it stays, and is told of again.
    expect_status 3 a sweep
    grep -q '1 expired file could not be deleted' "$scratch/err"
    fails grep -q '1 expired' "$scratch/out"
}

# An index that may hold nothing of a document proves nothing of it, and must not be left with keys that nobody owns.
case_damaged_file_stays_where_its_keys_prove_nothing() {
    python=/usr/bin/python3
    $python -c 'import pymongo' 2>/dev/null || skip "no pymongo"
    fill
    start_server "$store"
    $python -c 'import pymongo, sys
pymongo.MongoClient(sys.argv[1]).test.fs.chunks.create_index("n", partialFilterExpression={"n": {"$gte": 0}})' \
        "mongodb://$server_address/"
    stop_server
    zero segments/00000001.seg 300000 1000
    expect_status 7 a rm file1
    grep -q 'a wrong checksum in segment 00000001' "$scratch/err"
    a cat file2 | cmp - "$scratch/file2"
}

# Where a damaged chunk says nothing of what it is, nobody knows whose it is: that is for a repair.
case_file_with_a_damaged_head_is_not_removed() {
    fill
    zero segments/00000001.seg $((4096 + 600)) 60
    expect_status 7 a rm file1
    grep -q 'segment 00000001 at offset 4096' "$scratch/err"
    a cat file2 | cmp - "$scratch/file2"
    repair 3 file1
}

case_segment_is_lost() {
    fill
    rm "$store/segments/00000001.seg"
    repair 3 file1 file2 file3
}

case_descriptions_of_commits_are_lost() {
    fill
    zero meta.mdb 0 8192
    repair 0
    grep -q '^[0-9]* files or documents copied that may have been changed or deleted since (-v names them)$' "$scratch/out"
    fails grep -q 'file[1-4]' "$scratch/out"
    expect_status 0 "$ASHLAR" -s "$store" -v check --repair -n
    [ "$(grep -c '^test\.fs: file "file[1-4]": copied, but it may have been changed' "$scratch/out")" = 4 ]
    expect_status 0 "$ASHLAR" -s "$store" --json check --repair -n
    [ "$(grep -c '"kind" : "uncertain"' "$scratch/out")" -ge 4 ]
}

case_metadata_is_lost() {
    fill
    rm "$store/meta.mdb"
    repair 3 file1 file2 file3 file4
}

case_replace() {
    fill
    zero segments/00000001.seg 300000 1000
    cp -a "$store" "$scratch/before"
    expect_status 3 "$ASHLAR" -s "$store" check --repair --replace
    a check
    a cat file2 | cmp - "$scratch/file2"
    diff -r "$scratch"/store.damaged-* "$scratch/before"
    [ "$(ls -d "$scratch"/store.* | wc -l)" = 1 ]
}

case_a_sound_store_is_not_copied() {
    fill
    cp -a "$store" "$scratch/before"
    for options in "" -n --replace "--into=$scratch/new"; do
        # shellcheck disable=SC2086
        expect_status 0 "$ASHLAR" -s "$store" check --repair $options
        grep -q 'store is sound: there is nothing to repair, and nothing was copied$' "$scratch/out"
        [ "$(ls -d "$scratch"/store*)" = "$store" ]
        [ ! -e "$scratch/new" ]
    done
    a --json check --repair | grep -q '"clean" : true, "sound" : true'
    diff -r "$store" "$scratch/before"
    expect_status 2 a check --force
    a check --repair --force --replace | grep -q '; nothing lost$'
    a cat file1 | cmp - "$scratch/file1"
    diff -r "$scratch"/store.damaged-* "$scratch/before"
}

# Where folders cannot be exchanged, a kill between two renames leaves this.
case_a_swap_that_was_cut_off() {
    fill
    zero segments/00000001.seg 300000 1000
    expect_status 3 "$ASHLAR" -s "$store" check --repair --into "$store.repaired-20000101-000000"
    mv "$store" "$store.damaged-20000101-000000"
    for verb in ls "put $scratch/file4" "put -n $scratch/file4" init "serve --mongo 127.0.0.1:0" check "check --repair" \
        "check --repair -n --replace"; do
        # shellcheck disable=SC2086
        expect_status 4 "$ASHLAR" -s "$store/" $verb
        grep -q 'check --repair --replace` finishes it$' "$scratch/err"
        [ ! -e "$store" ]
    done
    expect_status 0 "$ASHLAR" -s "$store" check --repair --replace
    grep -q 'the damaged one is .*store\.damaged-20000101-000000$' "$scratch/out"
    a cat file2 | cmp - "$scratch/file2"
    [ ! -e "$store.repaired-20000101-000000" ]
}

case_two_in_one_second() {
    fill
    zero segments/00000001.seg 300000 1000
    for again in 1 2 3 4; do
        expect_status 3 "$ASHLAR" -s "$store" check --repair
    done
    [ "$(ls -d "$scratch"/store.repaired-* | wc -l)" = 4 ]
    rm -r "$scratch"/store.repaired-*
}

case_check_hints_once() {
    fill
    zero segments/00000001.seg 300000 1000
    "$ASHLAR" -s "$store" check >"$scratch/out" 2>&1 || [ $? = 7 ]
    [ "$(grep -c -e --repair "$scratch/out")" = 1 ]
    grep -q ': 1 finding$' "$scratch/out"
    grep -q ' 1 problem$' "$scratch/out"
}

case_refusals() {
    fill
    expect_status 5 "$ASHLAR" -s "$store" check --repair --into "$store"
    expect_status 2 "$ASHLAR" -s "$store" check --into "$scratch/new"
    expect_status 2 "$ASHLAR" -s "$store" check --repair --into="$store/in"
    expect_status 2 "$ASHLAR" -s "$store" check --repair --replace --into="$store/in/deeper"
    [ ! -e "$store/in" ]
    expect_status 4 "$ASHLAR" -s "$scratch/none" check --repair
    start_server "$store"
    expect_status 6 "$ASHLAR" -s "$store" check --repair --into "$scratch/new"
    stop_server
    [ ! -e "$scratch/new" ]
}

run_cases
