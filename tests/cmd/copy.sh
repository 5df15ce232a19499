#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `ashlar copy`: between folders and servers, again, interrupted, with conflicts and damage.
. "$(dirname "$0")/../lib.sh"
random() { # BYTES
    head -c "$1" /dev/urandom
}

fill() { # STORE
    random 3000000 | "$ASHLAR" -s "$1" put - large
    random 1 | "$ASHLAR" -s "$1" put - 'revised name'
    random 261120 | "$ASHLAR" -s "$1" put --metadata '{"a": {"b": [1, 2]}}' --ttl 86400 - 'revised name'
    : | "$ASHLAR" -s "$1" put --id '{"x": 1}' - empty
    random 5000 | "$ASHLAR" -s "$1" -d other -b mine put --id 42 --chunk-size 1000 - deep/er
}

# Everything there is to say about the files of the three buckets.
describe() { # URI…: -s URI, and what else chooses
    "$ASHLAR" "$@" --json find "{}" | sort
}

same() { # STORE STORE
    describe -s "$1" >"$scratch/one"
    describe -s "$2" | cmp - "$scratch/one"
    describe -s "$1" -d other -b mine >"$scratch/one"
    describe -s "$2" -d other -b mine | cmp - "$scratch/one"
    for address in large 'revised name@0' 'revised name@1' empty; do
        "$ASHLAR" -s "$1" cat "$address" >"$scratch/bytes"
        "$ASHLAR" -s "$2" cat "$address" | cmp - "$scratch/bytes"
        "$ASHLAR" -s "$1" --json stat "$address" >"$scratch/one"
        "$ASHLAR" -s "$2" --json stat "$address" | cmp - "$scratch/one"
    done
    "$ASHLAR" -s "$1" -d other -b mine cat deep/er >"$scratch/bytes"
    "$ASHLAR" -s "$2" -d other -b mine cat deep/er | cmp - "$scratch/bytes"
}

# As a driver may: another byte in the middle of the first chunk.
change_chunk() { # URI ID
    python=/usr/bin/python3
    [ -x $python ] || python=python3
    $python -c 'import pymongo, sys
with pymongo.MongoClient(sys.argv[1]) as client:
    chunks = client["test"]["fs.chunks"]
    data = bytearray(chunks.find_one({"files_id": sys.argv[2], "n": 0})["data"])
    data[1000] ^= 1
    chunks.update_one({"files_id": sys.argv[2], "n": 0}, {"$set": {"data": bytes(data)}})' "$1" "$2"
}

case_folder_to_folder_and_again() {
    fill "$scratch/a"
    "$ASHLAR" copy -n "$scratch/a" "$scratch/a2" >"$scratch/would"
    grep -qx 'would copy test.fs: large' "$scratch/would"
    grep -qx 'would copy other.mine: deep/er' "$scratch/would"
    grep -q '^would copy 5 files .*, 0 there already, 0 failed$' "$scratch/would"
    [ "$("$ASHLAR" --json copy -n "$scratch/a" "$scratch/a2" | grep -c '"action" : "copied"')" = 5 ]
    [ ! -e "$scratch/a2" ]
    expect_status 4 "$ASHLAR" copy -n "$scratch/a" "$scratch/no/a2"
    "$ASHLAR" copy "$scratch/a" "$scratch/a2" | grep -q '^copied 5 files .*, 0 there already, 0 failed$'
    same "$scratch/a" "$scratch/a2"
    "$ASHLAR" -s "$scratch/a2" check
    "$ASHLAR" copy "$scratch/a" "$scratch/a2" | grep -q '^copied 0 files (0 B), 5 there already, 0 failed$'
    "$ASHLAR" -s "$scratch/a" mv large larger
    random 10 | "$ASHLAR" -s "$scratch/a" put - new
    [ "$("$ASHLAR" --json copy "$scratch/a" "$scratch/a2" | grep -c '"action" : "present"')" = 4 ]
    "$ASHLAR" -s "$scratch/a2" cat larger >"$scratch/bytes"
    "$ASHLAR" -s "$scratch/a" cat larger | cmp - "$scratch/bytes"
    expect_status 4 "$ASHLAR" -s "$scratch/a2" stat large
}

case_chosen_buckets() {
    fill "$scratch/b"
    "$ASHLAR" copy -d other "$scratch/b" "$scratch/b2"
    "$ASHLAR" -s "$scratch/b2" ls | fails grep -q .
    "$ASHLAR" -s "$scratch/b2" -d other -b mine stat deep/er >/dev/null
    expect_status 4 "$ASHLAR" copy -b nobody "$scratch/b" "$scratch/b2"
    expect_status 2 "$ASHLAR" copy "$scratch/b" "$scratch/b/."
    expect_status 4 "$ASHLAR" copy "$scratch/nowhere" "$scratch/b2"
    expect_status 4 "$ASHLAR" copy -n "$scratch/nowhere" "$scratch/b3"
}

case_through_a_server() {
    fill "$scratch/c"
    start_server "$scratch/c-served"
    "$ASHLAR" copy "$scratch/c" "mongodb://$server_address/"
    "$ASHLAR" copy "mongodb://$server_address/" "$scratch/c2"
    same "$scratch/c" "$scratch/c2"
    expect_status 2 "$ASHLAR" copy "mongodb://$server_address/" "mongodb://$server_address/?appName=x"
    expect_status 2 "$ASHLAR" copy "mongodb://$server_address/test" "mongodb://$server_address/test"
    # The same store by another way in is not known as such, but nothing happens to it.
    "$ASHLAR" copy --replace "$scratch/c-served" "mongodb://$server_address/" | grep -q '^copied 0 files (0 B), 5 there already, 0 failed$'
    # From the folder of a running server, and into a database of another name.
    "$ASHLAR" copy "$scratch/c-served" "$scratch/c3"
    same "$scratch/c" "$scratch/c3"
    expect_status 2 "$ASHLAR" copy "$scratch/c" "mongodb://$server_address/third"
    "$ASHLAR" -d test copy "$scratch/c" "mongodb://$server_address/third"
    describe -s "$scratch/c" >"$scratch/one"
    describe -s "mongodb://$server_address/third" | cmp - "$scratch/one"
    stop_server
    "$ASHLAR" -s "$scratch/c-served" check
}

case_conflicts() {
    echo one | "$ASHLAR" -s "$scratch/d" put --id 1 - name
    echo fine | "$ASHLAR" -s "$scratch/d" put - fine
    echo other | "$ASHLAR" -s "$scratch/d2" put --id 1 - name
    expect_status 3 "$ASHLAR" copy "$scratch/d" "$scratch/d2"
    grep -q 'another file of that id' "$scratch/err"
    [ "$("$ASHLAR" -s "$scratch/d2" cat name)" = other ]
    [ "$("$ASHLAR" -s "$scratch/d2" cat fine)" = fine ]
    "$ASHLAR" copy --replace "$scratch/d" "$scratch/d2"
    [ "$("$ASHLAR" -s "$scratch/d2" cat name)" = one ]
    "$ASHLAR" -s "$scratch/d2" check
}

case_damaged_file_is_not_copied() {
    random 300000 | "$ASHLAR" -s "$scratch/e" put - bad
    random 300000 | "$ASHLAR" -s "$scratch/e" put - good
    printf 'X' | dd of="$scratch/e/segments/00000001.seg" bs=1 seek=100000 conv=notrunc 2>/dev/null
    expect_status 3 "$ASHLAR" copy "$scratch/e" "$scratch/e2"
    expect_status 4 "$ASHLAR" -s "$scratch/e2" stat bad
    "$ASHLAR" -s "$scratch/e2" cat good >"$scratch/bytes"
    "$ASHLAR" -s "$scratch/e" cat good | cmp - "$scratch/bytes"
    "$ASHLAR" -s "$scratch/e2" --json sweep -n --min-age 1 | grep -q '"chunks" : 0'
}

# The bytes are whole, but not those that the digest was made of.
case_wrong_digest_is_not_copied() {
    start_server "$scratch/g"
    for name in bad good; do
        random 300000 | "$ASHLAR" -s "$scratch/g" put --id "\"$name\"" - $name
    done
    "$ASHLAR" -s "$scratch/g" --json stat bad | grep -q '"sha256"'
    change_chunk "mongodb://$server_address/" bad
    expect_status 3 "$ASHLAR" copy "$scratch/g" "$scratch/g2"
    grep -q 'bad: SHA-256 is [0-9a-f]*, not [0-9a-f]* as when it was stored' "$scratch/err"
    expect_status 3 "$ASHLAR" copy "mongodb://$server_address/" "$scratch/g3"
    stop_server
    for copy in g2 g3; do
        expect_status 4 "$ASHLAR" -s "$scratch/$copy" stat bad
        "$ASHLAR" -s "$scratch/$copy" cat good >"$scratch/bytes"
        "$ASHLAR" -s "$scratch/g" cat good | cmp - "$scratch/bytes"
        "$ASHLAR" -s "$scratch/$copy" --json sweep -n --min-age 1 | grep -q '"chunks" : 0'
    done
}

case_killed_copy_goes_on() {
    for name in one two three; do
        random 1000000 | "$ASHLAR" -s "$scratch/f" put - $name
    done
    random 150000000 | "$ASHLAR" -s "$scratch/f" put - zlarge
    start_server "$scratch/f2"
    "$ASHLAR" -q copy "$scratch/f" "mongodb://$server_address/" &
    copier=$!
    tries=0
    while ! "$ASHLAR" -s "$scratch/f2" stat three >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 500 ] || return 1
        sleep 0.02
    done
    kill -KILL $copier || true
    killed=0
    wait $copier || killed=$?
    if [ $killed = 137 ]; then
        expect_status 4 "$ASHLAR" -s "$scratch/f2" stat zlarge
    fi
    # Which of them were whole is chance; the one that was waited for was.
    "$ASHLAR" copy "$scratch/f" "mongodb://$server_address/" >"$scratch/words"
    grep -Eq '^copied [0-3] files? .*, [1-4] there already, 0 failed$' "$scratch/words"
    for name in one two three zlarge; do
        "$ASHLAR" -s "$scratch/f" sum $name >"$scratch/one"
        "$ASHLAR" -s "$scratch/f2" cat $name | sha256sum | cut -c1-64 | grep -q "^$(cut -c1-64 "$scratch/one")"
    done
    stop_server
    "$ASHLAR" -s "$scratch/f2" check
}

# Whoever comes second waits, and finds the file there; whatever the moment, it is there with its chunks.
case_two_copies_at_once() {
    random 150000000 | "$ASHLAR" -s "$scratch/h" put --id 1 - big
    "$ASHLAR" -s "$scratch/h" cat big >"$scratch/bytes"
    start_server "$scratch/h" # else one would wait for the other's source
    source_pid=$server_pid
    start_server "$scratch/h2"
    for delay in 0.05 0.1 0.2 0.3 0.4 0.6; do
        "$ASHLAR" copy "$scratch/h" "$scratch/h2" >"$scratch/first" &
        first=$!
        sleep $delay
        "$ASHLAR" copy "$scratch/h" "$scratch/h2" >"$scratch/second"
        wait $first
        cat "$scratch/first" "$scratch/second" | grep -c '^copied 1 file ' | grep -qx 1
        cat "$scratch/first" "$scratch/second" | grep -c ' 1 there already, 0 failed$' | grep -qx 1
        "$ASHLAR" -s "$scratch/h2" cat big | cmp - "$scratch/bytes"
        "$ASHLAR" -q -s "$scratch/h2" rm big
    done
    "$ASHLAR" -s "$scratch/h2" --json sweep -n --min-age 1 | grep -q '"chunks" : 0'
    stop_server
    server_pid=$source_pid
    stop_server
    "$ASHLAR" -s "$scratch/h2" check
}

case_killed_copy_into_a_folder_is_taken_over_at_once() {
    random 150000000 | "$ASHLAR" -s "$scratch/k" put - big
    "$ASHLAR" -s "$scratch/k2" init
    "$ASHLAR" -q copy "$scratch/k" "$scratch/k2" &
    copier=$!
    tries=0
    while [ "$(du -sk "$scratch/k2/segments" | cut -f1)" -lt 30000 ] && [ $tries -lt 500 ]; do
        tries=$((tries + 1))
        sleep 0.01
    done
    kill -KILL $copier || true
    wait $copier || true
    "$ASHLAR" copy "$scratch/k" "$scratch/k2"
    "$ASHLAR" -s "$scratch/k" cat big >"$scratch/bytes"
    "$ASHLAR" -s "$scratch/k2" cat big | cmp - "$scratch/bytes"
    "$ASHLAR" -s "$scratch/k2" check
}

# A file of the target that lacks chunks is not "there already".
case_target_without_chunks() {
    start_server "$scratch/l2"
    random 300000 | "$ASHLAR" -s "$scratch/l" put --id '"x"' - file
    "$ASHLAR" copy "$scratch/l" "$scratch/l2"
    python=/usr/bin/python3
    [ -x $python ] || python=python3
    $python -c 'import pymongo, sys
with pymongo.MongoClient(sys.argv[1]) as client:
    client["test"]["fs.chunks"].delete_one({"files_id": "x", "n": 0})' "mongodb://$server_address/"
    expect_status 3 "$ASHLAR" copy "$scratch/l" "$scratch/l2"
    grep -q 'file: the target.s file lacks chunks' "$scratch/err"
    "$ASHLAR" copy --replace "$scratch/l" "$scratch/l2"
    "$ASHLAR" -s "$scratch/l" cat file >"$scratch/bytes"
    "$ASHLAR" -s "$scratch/l2" cat file | cmp - "$scratch/bytes"
    stop_server
}

# The old file stays until the new one is there, in a folder and through a server.
case_replace_is_one_step() {
    random 300000 | "$ASHLAR" -s "$scratch/m" put --id 8 - bad
    random 150000000 | "$ASHLAR" -s "$scratch/m" put --id 7 - doc
    "$ASHLAR" -s "$scratch/m" cat doc >"$scratch/new"
    printf 'X' | dd of="$scratch/m/segments/00000001.seg" bs=1 seek=100000 conv=notrunc 2>/dev/null
    for target in folder served; do
        to=$scratch/m-$target
        "$ASHLAR" -s "$to" init
        [ $target = folder ] || start_server "$to"
        random 300000 >"$scratch/old"
        "$ASHLAR" -s "$to" put --id 7 - doc <"$scratch/old"
        "$ASHLAR" -s "$to" put --id 8 - bad <"$scratch/old"
        for delay in 0.1 0.2 0.4; do
            "$ASHLAR" -q copy --replace "$scratch/m" "$to" 2>/dev/null &
            copier=$!
            sleep $delay
            kill -TERM $copier || true # it may be done
            wait $copier || true
            for name in doc bad; do
                "$ASHLAR" -s "$to" cat $name >"$scratch/got"
                cmp "$scratch/got" "$scratch/old" || cmp "$scratch/got" "$scratch/new"
            done
        done
        expect_status 3 "$ASHLAR" copy --replace "$scratch/m" "$to"
        "$ASHLAR" -s "$to" cat doc | cmp - "$scratch/new"
        "$ASHLAR" -s "$to" cat bad | cmp - "$scratch/old"
        "$ASHLAR" -s "$to" --json sweep -n --min-age 1 | grep -q '"chunks" : 0'
        [ $target = folder ] || stop_server
        "$ASHLAR" -s "$to" check
    done
}

case_one_store_within_another() {
    echo x | "$ASHLAR" -s "$scratch/w" put - file
    ln -s w "$scratch/w-link"
    for inside in "$scratch/w/in" "$scratch/w/segments/in" "$scratch/w-link/in" "$scratch/w/in/"; do
        expect_status 2 "$ASHLAR" copy "$scratch/w" "$inside"
        grep -q 'lies in the store' "$scratch/err"
    done
    (cd "$scratch/w" && expect_status 2 "$ASHLAR" copy . in)
    expect_status 2 "$ASHLAR" copy "$scratch/w" "$scratch/w-link"
    grep -q 'the same store' "$scratch/err"
    [ ! -e "$scratch/w/in" ]
    "$ASHLAR" -s "$scratch/w" check
    "$ASHLAR" copy "$scratch/w" "$scratch/w2" # begins as the other's name does
}

run_cases
