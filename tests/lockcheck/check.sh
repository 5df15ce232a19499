#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stop and kill processes that share a file under locks, of Ashlar and of the npm package gridfs-locks, and check what
# they did.
# usage: ASHLAR=… LOCK_WORKER=… check.sh [SECONDS [OURS [PEERS [SEED [SKEW]]]]]     default: 46 s, 10, 6, any, 3 s
# The long run: check.sh 600 10 6 (npm packages go to $ASH_NODE_FOLDER-locks, default: a scratch folder)
seconds=${1:-46}
ours=${2:-10}
peers=${3:-6}
seed=${4:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
skew=${5:-3}
self=$(cd "$(dirname "$0")" && pwd)
here=$self/../clients/locks_packages
[ -z "${ASH_NODE_FOLDER:-}" ] || ASH_NODE_FOLDER=$ASH_NODE_FOLDER-locks
. "$self/../lib.sh"

start_server "$scratch/store" || exit 1

check() { # DATABASE ARGS…
    database=$1
    shift
    python3 "$self/check.py" "mongodb://$server_address/$database" --worker "$LOCK_WORKER" --seed "$seed" --skew "$skew" "$@"
}

case_nothing_is_lost_beside_the_package() {
    command -v node >/dev/null && command -v npm >/dev/null || skip "node or npm is not installed"
    . "$self/../clients/node.sh"
    cp "$self/peer.js" "$node_folder/"
    check both --seconds "$seconds" --ours "$ours" --peers "$peers" --peer "$node_folder/peer.js"
}

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
