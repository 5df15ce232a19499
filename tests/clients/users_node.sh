#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# npm mongodb with users.  usage: ASHLAR=… users_node.sh   (npm packages go to $ASH_NODE_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/node.sh"

case_npm_mongodb_signs_in() {
    start_server "$scratch/store"
    echo pencil | "$ASHLAR" -s "$scratch/store" user add root --role root
    run_node "$here/users_node.js" "$server_address"
    stop_server
}

run_cases
