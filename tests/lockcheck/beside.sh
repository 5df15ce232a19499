#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stop and kill processes that share a file under locks, of Ashlar and of the npm package gridfs-locks, and check what they did.
# usage: ASHLAR=… LOCK_WORKER=… beside.sh [SECONDS [OURS [PEERS [SEED [SKEW]]]]]     default: 46 s, 10, 6, any, 3 s
# The long run: beside.sh 600 10 6 (npm packages go to $ASH_NODE_FOLDER-locks, default: a scratch folder)
self=$(cd "$(dirname "$0")" && pwd)
here=$self/../clients/locks_packages
[ -z "${ASH_NODE_FOLDER:-}" ] || ASH_NODE_FOLDER=$ASH_NODE_FOLDER-locks
. "$self/../lib.sh"
. "$self/../clients/node.sh"
. "$self/common.sh"

case_nothing_is_lost_beside_the_package() {
    cp "$self/peer.js" "$node_folder/"
    check both --seconds "$seconds" --ours "$ours" --peers "$peers" --peer "$node_folder/peer.js"
}

run_cases
