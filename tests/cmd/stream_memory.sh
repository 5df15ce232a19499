#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A server's own memory stays flat however much streams in and out through it: RssAnon, sampled meanwhile.  512 MiB in the test run;
# 16 GiB, for which the disk of TMPDIR needs as much again and a little, by hand:
#
#     ASHLAR=build/ashlar sh tests/cmd/stream_memory.sh 16384
size_mib=${1:-512}
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
limit_kib=32768

# Bytes that nothing compresses and no chunk repeats, the same on every call.
stream() { # MIB
    openssl enc -aes-128-ctr -nosalt -K 00112233445566778899aabbccddeeff -iv 00000000000000000000000000000000 \
        -in /dev/zero 2>/dev/null | head -c "$(($1 * 1048576))"
}

# Until $scratch/over exists: the server's largest RssAnon in KiB, and how often it was looked at, into $scratch/most.
watch_memory() {
    most=0
    looks=0
    while [ ! -e "$scratch/over" ]; do
        now=
        while read -r field value unit; do
            [ "$field" != RssAnon: ] || now=$value
        done <"/proc/$server_pid/status"
        [ "${now:-0}" -le $most ] || most=$now
        looks=$((looks + 1))
        sleep 0.02
    done
    echo "$most $looks" >"$scratch/most"
}

# flat WHAT COMMAND…: runs it beside the watch.
flat() {
    what=$1
    shift
    rm -f "$scratch/over"
    watch_memory &
    watch=$!
    result=0
    "$@" || result=$?
    : >"$scratch/over"
    wait $watch
    read -r most looks <"$scratch/most"
    echo "$what: RssAnon at most $most KiB, looked at $looks times"
    [ $result = 0 ] && [ "$looks" -ge 5 ] && [ "$most" -gt 0 ] && [ "$most" -le $limit_kib ]
}

# put_file NAME [MIB]
put_file() {
    stream "${2:-$size_mib}" | "$ASHLAR" -s "mongodb://$server_address/test" put - "$1"
}

# same_file NAME SUM
same_file() {
    [ "$("$ASHLAR" -s "mongodb://$server_address/test" get "$1" - | sha256sum)" = "$2" ]
}

# at_once COMMAND ARG…: four times beside each other, with "part 1" and so on as its first argument.
at_once() {
    command=$1
    shift
    started=
    for i in 1 2 3 4; do
        "$command" "part $i" "$@" &
        started="$started $!"
    done
    failed=0
    for pid in $started; do
        wait "$pid" || failed=1
    done
    return $failed
}

needs_figures() {
    [ -r /proc/self/status ] || skip "no /proc"
    fails grep -aqE '__(asan|tsan)_init' "$ASHLAR" || skip "a sanitizer's memory is not the server's"
}

case_one_stream() {
    needs_figures
    sum=$(stream "$size_mib" | sha256sum)
    start_server "$store"
    flat "$size_mib MiB in" put_file whole
    flat "$size_mib MiB out" same_file whole "$sum"
    "$ASHLAR" -s "$store" rm whole
    stop_server
}

case_four_streams() {
    needs_figures
    part_mib=$((size_mib / 4))
    sum=$(stream $part_mib | sha256sum)
    start_server "$store"
    flat "4 x $part_mib MiB in" at_once put_file $part_mib
    flat "4 x $part_mib MiB out" at_once same_file "$sum"
    stop_server
}

# A driver gathers as many documents in a message as the server says that it takes.
case_large_messages() {
    needs_figures
    python=/usr/bin/python3
    $python -c 'import pymongo' 2>/dev/null || skip "no pymongo"
    start_server "$store"
    flat "documents in large messages" $python - "mongodb://$server_address/" <<'END'
import sys
import bson
import pymongo

chunks = pymongo.MongoClient(sys.argv[1]).test.fs.chunks
chunk = bson.Binary(b"c" * 261120)
for file in range(4):
    chunks.insert_many([{"files_id": file, "n": n, "data": chunk} for n in range(200)])
    assert sum(len(c["data"]) for c in chunks.find({"files_id": file})) == 200 * 261120
END
    stop_server
}

run_cases
