#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A file of 4 GiB and one byte goes in and comes out the same: by the command alone, and beside a server.  Not part of `make test`
# (it writes some 17 GiB):
#
#     ASHLAR=build/ashlar sh tests/cmd/large.sh
. "$(dirname "$0")/../lib.sh"
size=4294967297
store=$scratch/store

# Bytes that nothing compresses and no chunk repeats, the same on every call.
large() {
    openssl enc -aes-128-ctr -nosalt -K 00112233445566778899aabbccddeeff -iv 00000000000000000000000000000000 \
        -in /dev/zero 2>/dev/null | head -c $size
}

expected=$(large | sha256sum | cut -d' ' -f1)

case_by_the_command_alone() {
    large | "$ASHLAR" -s "$store" put - large
    [ "$("$ASHLAR" -s "$store" --json stat large | grep -o '"length" : [0-9]*')" = "\"length\" : $size" ]
    [ "$("$ASHLAR" -s "$store" get large - | sha256sum | cut -d' ' -f1)" = "$expected" ]
    [ "$("$ASHLAR" -s "$store" sum large | cut -d' ' -f1)" = "$expected" ]
    [ "$("$ASHLAR" -s "$store" cat --range 4294967296- large | wc -c)" = 1 ]
}

case_beside_a_server() {
    start_server "$store"
    [ "$("$ASHLAR" -s "$store" get large - | sha256sum | cut -d' ' -f1)" = "$expected" ]
    large | "$ASHLAR" -s "$store" put - again
    [ "$("$ASHLAR" -s "$store" sum --recompute again | cut -d' ' -f1)" = "$expected" ]
    grep -E 'RssAnon' "/proc/$server_pid/status" | sed 's/^/# server /'
    "$ASHLAR" -s "$store" rm large again
    stop_server
    "$ASHLAR" -s "$store" check
}

run_cases
