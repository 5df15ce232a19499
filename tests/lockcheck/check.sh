#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stop and kill processes that share a file under locks, and check what they did.  (beside.sh: beside processes of the npm package.)
# usage: ASHLAR=… LOCK_WORKER=… check.sh [SECONDS [OURS [PEERS [SEED [SKEW]]]]]     default: 46 s, 10, 6, any, 3 s
# Runs OURS + PEERS processes for an eighth of SECONDS.
self=$(cd "$(dirname "$0")" && pwd)
. "$self/../lib.sh"
. "$self/common.sh"

case_nothing_is_lost_among_ourselves() {
    check ours --seconds $((seconds / 8 + 2)) --ours $((ours + peers))
}

# The checker must be able to see what the fence prevents.
case_without_the_fence_updates_are_lost() {
    got=0
    check unfenced --seconds 8 --ours 6 --unfenced >"$scratch/found" || got=$?
    cat "$scratch/found"
    [ $got = 1 ]
    grep -q 'update lost' "$scratch/found"
}

run_cases
