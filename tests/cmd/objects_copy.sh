#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Object stores copied by `ashlar copy` and `ashlar object copy`: from anywhere to anywhere, again, interrupted, refused.
. "$(dirname "$0")/../lib.sh"
o() { # STORE WORD...
    at=$1
    shift
    "$ASHLAR" -s "$at" object "$@"
}

fresh() {
    rm -rf "$scratch/a" "$scratch/b" "$scratch/c" "$scratch/d"
}

fill() { # STORE
    o "$1" add pictures --keep all --description 'of cats' --max-objects 100 --metadata owner=me >"$scratch/add" 2>&1
    o "$1" add plain >"$scratch/add"
    for i in 1 2 3; do
        printf 'version %s' $i | o "$1" put pictures --name 'ä b/c' --tag t$i --type text/plain
    done
    head -c 300000 /dev/urandom >"$scratch/big"
    o "$1" put plain "$scratch/big" --chunk-size 1000
    printf old | o "$1" put pictures --name gone
    o "$1" rm pictures gone
    o "$1" link pictures link 'ä b/c'
    o "$1" link pictures all --to plain
}

# What is in the stores, but for revisions and times.
describe() { # STORE WHOLE: with what JetStream does not have, or ""
    for s in pictures plain; do
        o "$1" ls "$s" --by-name --json | python3 -c 'import json, sys
for line in sys.stdin:
    o = json.loads(line)
    print({k: o.get(k) for k in ("name", "description", "headers", "metadata", "tags", "options", "bucket", "size", "chunks", "digest")})'
        o "$1" status "$s" --json | python3 -c 'import json, sys
o = json.load(sys.stdin)
print({k: v for k, v in o.items() if k in ("bucket", "description") or (sys.argv[1] and k in ("objects", "metadata", "keepLast", "maxObjects"))})' "$2"
    done
}

same() { # STORE STORE [WHOLE]
    describe "$1" "${3-}" >"$scratch/one"
    describe "$2" "${3-}" >"$scratch/two"
    cmp "$scratch/one" "$scratch/two"
    o "$2" get plain big -O "$scratch/got"
    cmp "$scratch/big" "$scratch/got"
}

sound() { # FOLDER: no bytes without an object, and each object's bytes
    "$ASHLAR" -s "$1" check
    for s in pictures plain; do
        o "$1" sweep "$s" --force | grep -q '^went: 0 without an object'
    done
}

case_a_whole_store() {
    fresh
    fill "$scratch/a"
    printf file | "$ASHLAR" -s "$scratch/a" put - file
    "$ASHLAR" copy "$scratch/a" "$scratch/b" >"$scratch/out"
    grep -q '^copied 1 file ' "$scratch/out"
    grep -q '^copied 4 objects .* of 2 object stores, 2 earlier versions, 0 there already, 0 failed$' "$scratch/out"
    same "$scratch/a" "$scratch/b" whole
    sound "$scratch/b"
    [ "$(o "$scratch/b" versions pictures 'ä b/c' --json | field size)" = "$(printf '9\n9\n9')" ]
    [ "$(o "$scratch/b" get pictures link -O -)" = 'version 3' ]
    # It works: changes, limits, versions.
    printf 4 | o "$scratch/b" put pictures --name 'ä b/c'
    [ "$(o "$scratch/b" versions pictures 'ä b/c' --json | wc -l)" = 4 ]
    [ "$(o "$scratch/b" status pictures --json | field maxObjects)" = 100 ]
    sound "$scratch/b"
    "$ASHLAR" copy --all "$scratch/a" "$scratch/c" >"$scratch/out"
    same "$scratch/a" "$scratch/c" whole
    sound "$scratch/c"
    "$ASHLAR" copy --all "$scratch/a" "$scratch/c" | grep -q '^copied 0 objects .* 4 there already, 0 failed$'
}

# The target had stores of these names, and the source is the third of its name.
case_generations() {
    fresh
    for i in 1 2; do
        o "$scratch/a" add pictures >"$scratch/add" 2>&1
        o "$scratch/a" rm --force pictures
    done
    o "$scratch/b" add pictures >"$scratch/add" 2>&1
    printf x | o "$scratch/b" put pictures --name x
    o "$scratch/b" rm --force pictures
    fill "$scratch/a"
    "$ASHLAR" copy --all "$scratch/a" "$scratch/b"
    same "$scratch/a" "$scratch/b" whole
    sound "$scratch/b"
    [ "$(o "$scratch/b" ls --names)" = "$(printf 'pictures\nplain')" ]
}

case_to_a_folders_server_and_back() {
    fresh
    fill "$scratch/a"
    "$ASHLAR" -s "$scratch/served" init
    start_server "$scratch/served"
    uri=mongodb://$server_address/
    "$ASHLAR" copy --objects "$scratch/a" "$uri" | grep -q '^copied 4 objects .* 2 earlier versions'
    same "$scratch/a" "$uri"
    "$ASHLAR" copy --objects "$uri" "$scratch/b" | grep -q '^copied 4 objects .* 2 earlier versions'
    same "$scratch/a" "$scratch/b" whole
    stop_server
    sound "$scratch/served"
    sound "$scratch/b"
}

case_to_jetstream_and_back() {
    fresh
    start_nats
    fill "$scratch/a"
    expect_status 1 "$ASHLAR" copy --objects "$scratch/a" "$nats"
    grep -q 'object store pictures: the target cannot keep .*--keep, --max-objects$' "$scratch/err"
    grep -q -- '--lossy' "$scratch/err"
    [ -z "$(o "$nats" ls)" ]
    expect_status 1 "$ASHLAR" copy --objects --no-history "$scratch/a" "$nats"
    grep -q 'cannot keep .*--max-objects$' "$scratch/err"
    fails grep -- '--keep' "$scratch/err"
    "$ASHLAR" copy --objects --lossy "$scratch/a" "$nats" | grep -q '^copied 4 objects .* 0 earlier versions, 0 there already, 0 failed$'
    same "$scratch/a" "$nats"
    "$ASHLAR" copy --objects --lossy "$scratch/a" "$nats" | grep -q '^copied 0 objects .* 4 there already, 0 failed$'
    "$ASHLAR" copy --objects "$nats" "$scratch/b" | grep -q '^copied 4 objects'
    same "$scratch/a" "$scratch/b"
    sound "$scratch/b"
    "$ASHLAR" copy --object-store plain -d elsewhere "$nats" "$scratch/b" | grep -q '^copied 1 object .* of 1 object store,'
    [ "$("$ASHLAR" -s "$scratch/b" -d elsewhere object ls plain --names)" = big ]
    # What the target cannot keep of single objects: another digest.
    o "$scratch/b" add sums --digest sha1 >"$scratch/add"
    printf x | o "$scratch/b" put sums --name x
    expect_status 1 "$ASHLAR" copy --object-store sums "$scratch/b" "$nats"
    grep -q 'cannot keep --digest$' "$scratch/err"
    o "$scratch/b" copy sums -n --to "$nats" >"$scratch/out" 2>"$scratch/err"
    grep -q 'cannot keep --digest, and gets the rest$' "$scratch/err"
    o "$scratch/b" copy sums single --to "$nats" >"$scratch/out" 2>"$scratch/err"
    grep -q 'cannot keep --digest, and gets the rest$' "$scratch/err"
    "$ASHLAR" copy --object-store sums --lossy "$scratch/b" "$nats" | grep -q '^copied 1 object '
    "$ASHLAR" copy --object-store sums --lossy "$scratch/b" "$nats" | grep -q '^copied 0 objects .* 1 there already'
    for words in '' --all --tree '-b fs'; do
        expect_status 2 "$ASHLAR" copy $words "$scratch/a" "$nats"
    done
    stop_nats
}

case_again_and_other_objects() {
    fresh
    fill "$scratch/a"
    "$ASHLAR" copy --objects "$scratch/a" "$scratch/b"
    printf 'version 4' | o "$scratch/a" put pictures --name 'ä b/c'
    "$ASHLAR" copy --objects "$scratch/a" "$scratch/b" | grep -q '^copied 1 object .* 0 earlier versions, 3 there already, 0 failed$'
    [ "$(o "$scratch/b" versions pictures 'ä b/c' --json | wc -l)" = 4 ]
    printf theirs | o "$scratch/b" put plain --name big
    expect_status 3 "$ASHLAR" copy --objects "$scratch/a" "$scratch/b"
    grep -q 'plain > big: .*--replace' "$scratch/err"
    grep -q ' 3 there already, 1 failed$' "$scratch/out"
    [ "$(o "$scratch/b" get plain big -O -)" = theirs ]
    "$ASHLAR" copy --objects --replace "$scratch/a" "$scratch/b" | grep -q '^copied 1 object '
    same "$scratch/a" "$scratch/b"
    "$ASHLAR" copy --objects --deleted --json "$scratch/a" "$scratch/b" >"$scratch/json"
    grep '"name" : "gone"' "$scratch/json" | field deleted | grep -qx true
    o "$scratch/b" ls pictures --deleted | grep -q 'gone (deleted)$'
    o "$scratch/b" rm plain big
    o "$scratch/a" rm pictures link
    "$ASHLAR" copy --objects --deleted "$scratch/a" "$scratch/b"
    same "$scratch/a" "$scratch/b"
    "$ASHLAR" copy --objects --no-history "$scratch/a" "$scratch/c"
    [ "$(o "$scratch/c" versions pictures 'ä b/c' --json | wc -l)" = 1 ]
    [ "$(o "$scratch/c" status pictures --json | field keepLast)" = -1 ]
    sound "$scratch/b"
}

case_interrupted() {
    fresh
    o "$scratch/a" add pictures >"$scratch/add" 2>&1
    o "$scratch/a" add plain >"$scratch/add" 2>&1
    head -c 20000000 /dev/urandom >"$scratch/big"
    for i in 1 2 3 4 5 6 7 8; do
        o "$scratch/a" put plain "$scratch/big" --name $i -q
    done
    o "$scratch/a" put plain "$scratch/big" -q
    "$ASHLAR" --json copy --objects "$scratch/a" "$scratch/b" >"$scratch/out" 2>"$scratch/err" &
    copying=$!
    tries=0
    until [ -e "$scratch/b" ] && [ "$(du -sm "$scratch/b" | cut -f 1)" -gt 50 ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ]
        sleep 0.05
    done
    kill -INT $copying
    status=0
    wait $copying || status=$?
    [ $status = 130 ]
    "$ASHLAR" copy --objects "$scratch/a" "$scratch/b" >"$scratch/out"
    grep -q '^copied [1-7] object' "$scratch/out"
    grep -q ' [2-8] there already, 0 failed$' "$scratch/out"
    same "$scratch/a" "$scratch/b"
    sound "$scratch/b"
}

case_dry_run() {
    fresh
    fill "$scratch/a"
    "$ASHLAR" copy -n --objects "$scratch/a" "$scratch/b" >"$scratch/out"
    grep -qx 'would copy pictures > ä b/c' "$scratch/out"
    grep -q '^would copy 4 objects .* 2 earlier versions, 0 there already' "$scratch/out"
    [ ! -e "$scratch/b" ]
    o "$scratch/a" copy pictures -n --to "$scratch/b" | grep -q '^would have copied 3 '
    o "$scratch/a" copy pictures -n copy | grep -q '^would have copied 3 '
    [ ! -e "$scratch/b" ]
    [ "$(o "$scratch/a" ls --names)" = "$(printf 'pictures\nplain')" ]
    "$ASHLAR" copy --objects "$scratch/a" "$scratch/b"
    printf x | o "$scratch/a" put plain --name new
    "$ASHLAR" copy -n --json --objects "$scratch/a" "$scratch/b" >"$scratch/json"
    [ "$(grep '"name"' "$scratch/json" | field name)" = new ]
    [ "$(o "$scratch/b" ls plain --names)" = big ]
}

case_databases() {
    fresh
    o "$scratch/a" add plain >"$scratch/add" 2>&1
    "$ASHLAR" -s "$scratch/a" -d other object add plain >"$scratch/add"
    printf x | "$ASHLAR" -s "$scratch/a" -d other object put plain --name x
    "$ASHLAR" copy --objects "$scratch/a" "$scratch/b" | grep -q '^copied 1 object .* of 2 object stores'
    [ "$("$ASHLAR" -s "$scratch/b" -d other object ls plain --names)" = x ]
    [ -z "$(o "$scratch/b" ls plain --names)" ]
    "$ASHLAR" copy --objects -d other "$scratch/a" "$scratch/c" | grep -q ' of 1 object store,'
    start_nats
    expect_status 2 "$ASHLAR" copy --objects "$scratch/a" "$nats"
    grep -q 'plain is in database .* and in .*: choose one by -d' "$scratch/err"
    "$ASHLAR" copy --objects -d other "$scratch/a" "$nats" | grep -q '^copied 1 object '
    stop_nats
}

case_one_store_into_another() {
    fresh
    fill "$scratch/a"
    o "$scratch/a" copy pictures more >"$scratch/out"
    grep -q '^copied 3 ' "$scratch/out"
    [ "$(o "$scratch/a" status more --json | field keepLast)" = -1 ]
    [ "$(o "$scratch/a" status more --json | field description)" = 'of cats' ]
    [ "$(o "$scratch/a" versions more 'ä b/c' --json | wc -l)" = 3 ]
    o "$scratch/a" copy pictures newest --no-history
    [ "$(o "$scratch/a" versions newest 'ä b/c' --json | wc -l)" = 1 ]
    expect_status 2 o "$scratch/a" copy pictures pictures
    printf theirs | o "$scratch/a" put more --name 'ä b/c'
    o "$scratch/a" copy pictures more --keep | grep -q '^copied 0 '
    [ "$(o "$scratch/a" get more 'ä b/c' -O -)" = theirs ]
}

case_mistakes() {
    fresh
    fill "$scratch/a"
    expect_status 4 "$ASHLAR" copy --object-store none "$scratch/a" "$scratch/b"
    grep -q 'there is no object store none' "$scratch/err"
    [ ! -e "$scratch/b" ]
    "$ASHLAR" -s "$scratch/c" init
    expect_status 4 "$ASHLAR" copy --objects "$scratch/c" "$scratch/b"
    [ ! -e "$scratch/b" ]
    "$ASHLAR" copy --object-store plain --object-store plain "$scratch/a" "$scratch/b" | grep -q '^copied 1 object '
    expect_status 2 "$ASHLAR" copy --objects --all "$scratch/a" "$scratch/b"
    grep -q -- '--objects does not go with --all' "$scratch/err"
    expect_status 2 "$ASHLAR" copy --objects -b fs "$scratch/a" "$scratch/b"
    expect_status 2 "$ASHLAR" copy --object-store '' "$scratch/a" "$scratch/b"
    expect_status 2 "$ASHLAR" copy -b fs --deleted "$scratch/a" "$scratch/b"
    expect_status 2 "$ASHLAR" copy --objects --tree "$scratch/a" "$scratch/b"
    expect_status 2 "$ASHLAR" copy --objects "$scratch/a" "$scratch/a"
    # What is there with another configuration stays as it is; a sealed one is copied, and its copy can be changed.
    o "$scratch/c" add plain --keep 2 >"$scratch/add"
    o "$scratch/a" seal --force plain
    "$ASHLAR" copy --objects "$scratch/a" "$scratch/c" 2>"$scratch/err"
    grep -q 'plain is there with another configuration: --keep, and stays so$' "$scratch/err"
    "$ASHLAR" copy --objects "$scratch/a" "$scratch/d" 2>"$scratch/err"
    grep -q 'plain is sealed; its copy is not' "$scratch/err"
    printf x | o "$scratch/d" put plain --name x
    o "$scratch/d" seal --force plain
    printf x | o "$scratch/c" put plain --name y
    expect_status 9 "$ASHLAR" copy --objects "$scratch/c" "$scratch/d"
}

run_cases
