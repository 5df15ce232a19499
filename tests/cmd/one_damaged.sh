#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One damaged document, and one damaged chunk, cost themselves and nothing else.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
count=300
a() {
    "$ASHLAR" -s "$store" "$@"
}

# Flip a byte of the first place in a file of the store where this text stands.
flip_in() { # FILE TEXT
    at=$(grep -abo "$2" "$store/$1" | head -n 1 | cut -d: -f1)
    [ -n "$at" ]
    printf '#' | dd of="$store/$1" bs=1 seek="$at" conv=notrunc status=none
}

fill() {
    rm -rf "$store"
    mkdir -p "$scratch/tree/data"
    for i in $(seq -w 1 $count); do
        echo "content of file $i" >"$scratch/tree/data/file$i"
    done
    a -q put -r --metadata '{"why": "a document is told from its keys in an index by its metadata"}' "$scratch/tree"
    head -c 300000 /dev/urandom >"$scratch/payload"
    echo "the chunk that will be damaged" >>"$scratch/payload"
    a -q put "$scratch/payload" data/large
}

# The documents lie in the metadata, each once: the name of the 150th, in front of its metadata, is not what it was.
damage_a_document() {
    python3 - "$store/meta.mdb" <<'END'
import sys
path = sys.argv[1]
data = bytearray(open(path, 'rb').read())
hits = 0
at = data.find(b'data/file150\x00')
while at >= 0:
    if data.find(b'metadata', at, at + 40) >= 0:
        data[at] = ord('#')
        hits += 1
    at = data.find(b'data/file150\x00', at + 1)
assert hits > 0, 'no such document'
open(path, 'r+b').write(data)
END
}

# The same from a folder, through the folder's server, and by its address.
costs_itself() {
    for words in "ls" "ls data/" "find {}" 'find {} --sort {"length":-1}' "gridfs list"; do
        expect_status 3 a $words
        [ "$(grep -c 'data/' "$scratch/out")" = $count ]
        grep -q 'record .*wrong checksum' "$scratch/err"
    done
    expect_status 3 a get -r data/ "$scratch/back"
    [ "$(ls "$scratch/back/data" | wc -l)" = $count ]
    cmp "$scratch/back/data/large" "$scratch/payload"
    grep -q 'record .*wrong checksum' "$scratch/err"
    expect_status 3 a copy "$store" "$scratch/copied"
    [ "$("$ASHLAR" -s "$scratch/copied" ls | wc -l)" = $count ]
    [ "$(grep -c 'check --repair' "$scratch/err")" = 1 ]
    rm -rf "$scratch/back" "$scratch/copied"
}

case_a_damaged_document() {
    command -v python3 >/dev/null || skip "no python3"
    fill
    damage_a_document
    costs_itself
    start_server "$store"
    costs_itself
    folder=$store
    store=mongodb://$server_address
    costs_itself
    store=$folder
    stop_server
}

case_a_damaged_chunk() {
    fill
    flip_in segments/00000001.seg 'the chunk that will be'
    expect_status 3 a get -r . "$scratch/chunk-back"
    [ "$(ls "$scratch/chunk-back/data" | wc -l)" = $count ]
    grep -q 'data/large' "$scratch/err"
    expect_status 3 a copy "$store" "$scratch/chunk-copied"
    [ "$("$ASHLAR" -s "$scratch/chunk-copied" ls | wc -l)" = $count ]
}

case_rm_and_sweep_go_on() {
    command -v python3 >/dev/null || skip "no python3"
    fill
    damage_a_document
    expect_status 3 a rm -r data/
    grep -q "^deleted $count files" "$scratch/out"
    expect_status 3 a ls
    [ ! -s "$scratch/out" ]
    # What to do about damage is said once, however much there is.
    fill
    damage_a_document
    flip_in segments/00000001.seg 'the chunk that will be'
    expect_status 3 a get -r . "$scratch/hinted"
    [ "$(grep -c 'check --repair' "$scratch/err")" = 1 ]
    [ "$(grep -c '^ashlar get' "$scratch/err")" = 3 ]
}

run_cases
