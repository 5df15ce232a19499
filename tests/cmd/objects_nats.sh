#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Object stores from one NATS server to another and back, and on a cluster of three.  Needs $NATS_SERVERS, which is built with libnats.
. "$(dirname "$0")/../lib.sh"
[ -n "${NATS_SERVERS-}" ] || skip_all 'built without libnats'
command -v nats-server >/dev/null || skip_all 'no nats-server'

o() { # ADDRESS WORD...
    at=$1
    shift
    "$ASHLAR" -s "$at" object "$@"
}

start_cluster() { # sets $cluster, the addresses of three servers
    rm -f "$scratch/stop" "$scratch/addresses"
    mkfifo "$scratch/stop"
    "$NATS_SERVERS" 3 <"$scratch/stop" >"$scratch/addresses" &
    cluster_pid=$!
    echo $cluster_pid >>"$scratch/pids"
    exec 8>"$scratch/stop"
    tries=0
    until grep -qs . "$scratch/addresses"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ]
        sleep 0.1
    done
    cluster=$(cat "$scratch/addresses")
}

stop_cluster() {
    exec 8>&-
    wait $cluster_pid
}

fill() { # ADDRESS STORE
    head -c 700013 /dev/urandom >"$scratch/big"
    o "$1" put "$2" "$scratch/big" --chunk-size 1000 --name big >"$scratch/put"
    : | o "$1" put "$2" --name empty
    printf 'with words' | o "$1" put "$2" --name 'ä b/c' --tag red --type text/plain -H A:1 --metadata owner=me --description 'of one'
    printf old | o "$1" put "$2" --name gone
    o "$1" rm "$2" gone
    o "$1" link "$2" link big
}

# All but revisions and times, with digests.
describe() { # ADDRESS STORE
    o "$1" ls "$2" --by-name --json | python3 -c 'import json, sys
for line in sys.stdin:
    o = json.loads(line)
    print({k: o.get(k) for k in ("name", "description", "headers", "metadata", "tags", "options", "bucket", "size", "chunks", "digest")})'
}

same() { # ADDRESS ADDRESS STORE
    describe "$1" "$3" >"$scratch/one"
    describe "$2" "$3" >"$scratch/two"
    [ -s "$scratch/one" ]
    cmp "$scratch/one" "$scratch/two"
    for at in "$1" "$2"; do
        o "$at" get "$3" link -O "$scratch/got"
        [ "$(o "$at" get "$3" 'ä b/c' -O -)" = 'with words' ]
    done
    cmp "$scratch/big" "$scratch/got"
}

no_bytes_are_left() { # ADDRESS STORE
    o "$1" sweep "$2" -n --force | grep -q '^would go: 0 without an object'
}

case_from_server_to_server_and_back() {
    start_nats
    one=$nats one_pid=$nats_pid
    start_nats
    two=$nats
    o "$one" add pictures --description 'of cats' --max-bucket-size 100M --ttl 30d >"$scratch/add"
    fill "$one" pictures
    "$ASHLAR" copy --objects "$one" "$two" | grep -q '^copied 4 objects .* of 1 object store, 0 earlier versions, 0 there already, 0 failed$'
    same "$one" "$two" pictures
    for at in "$one" "$two"; do
        o "$at" status pictures --json | field ttlMs
        o "$at" status pictures --json | field maxBytes
        o "$at" status pictures --json | field description
    done >"$scratch/configured"
    [ "$(sort "$scratch/configured" | uniq -c | awk '$1 != 2' | wc -l)" = 0 ]
    "$ASHLAR" copy --objects "$one" "$two" | grep -q '^copied 0 objects .* 4 there already, 0 failed$'
    # The way back brings what came, and what went.
    printf new | o "$two" put pictures --name new
    printf changed | o "$two" put pictures --name empty
    o "$two" rm pictures 'ä b/c'
    expect_status 3 "$ASHLAR" copy --objects --deleted "$two" "$one"
    grep -q 'pictures > empty: .*--replace' "$scratch/err"
    "$ASHLAR" copy --objects --deleted --replace "$two" "$one" >"$scratch/out"
    describe "$one" pictures >"$scratch/there"
    describe "$two" pictures | cmp - "$scratch/there"
    grep -q "'new'" "$scratch/there"
    [ "$(o "$one" get pictures empty -O -)" = changed ]
    expect_status 4 o "$one" info pictures 'ä b/c'
    expect_status 2 "$ASHLAR" copy --objects "$one" "$one"
    no_bytes_are_left "$one" pictures
    no_bytes_are_left "$two" pictures
    stop_nats
    nats_pid=$one_pid
    stop_nats
}

put_slowly() { # ADDRESS
    o "$1" add slow >/dev/null
    head -c 600000 /dev/urandom >"$scratch/slow"
    (head -c 300000 "$scratch/slow"; sleep 1; tail -c 300000 "$scratch/slow") | o "$1" put slow --name between
    (cat "$scratch/slow"; sleep 1) | o "$1" put slow --name before
    for name in between before; do
        o "$1" get slow $name -O "$scratch/got"
        cmp "$scratch/slow" "$scratch/got"
    done
}

# Who was silent stores its last chunk anew, and counts them all: on a server that deletes no messages it only counts.
case_slow_puts() {
    start_nats
    put_slowly "$nats"
    stop_nats
    start_server "$scratch/served" --nats 127.0.0.1:0
    put_slowly "$(sed -n 's|^\(nats://.*\)|\1|p' "$scratch/server.out")"
    stop_server
    "$ASHLAR" -s "$scratch/served" check
}

case_three_replicas() {
    start_cluster
    start_nats
    o "$cluster" add pictures --replicas 3 --description 'of cats' --json >"$scratch/json"
    [ "$(field replicas <"$scratch/json")" = 3 ]
    fill "$cluster" pictures
    o "$cluster" get pictures big -O "$scratch/got"
    cmp "$scratch/big" "$scratch/got"
    # A server by itself has no replicas: only --lossy makes the store without them.
    expect_status 1 "$ASHLAR" copy --objects "$cluster" "$nats"
    "$ASHLAR" copy --objects --lossy "$cluster" "$nats" >"$scratch/out" 2>"$scratch/err"
    grep -q 'made without its placement' "$scratch/err"
    grep -q '^copied 4 objects' "$scratch/out"
    same "$cluster" "$nats" pictures
    # What is there keeps its replicas.
    printf new | o "$nats" put pictures --name new
    "$ASHLAR" copy --objects "$nats" "$cluster" | grep -q '^copied 1 object .* 4 there already, 0 failed$'
    same "$cluster" "$nats" pictures
    [ "$(o "$cluster" status pictures --json | field replicas)" = 3 ]
    o "$cluster" edit pictures --description after --json >"$scratch/json"
    [ "$(field replicas <"$scratch/json")" = 3 ]
    # A folder has none either, and each server of the cluster tells the same.
    "$ASHLAR" copy --objects "$cluster" "$scratch/folder" | grep -q '^copied 5 objects'
    same "$cluster" "$scratch/folder" pictures
    for address in $(echo "$cluster" | tr , ' '); do
        same "nats://${address#nats://}" "$nats" pictures
    done
    no_bytes_are_left "$cluster" pictures
    stop_nats
    stop_cluster
}

run_cases
