#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# npm mongodb with users.  usage: ASHLAR=… users_node.sh   (npm packages go to $ASH_NODE_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/node.sh"
. "$here/../tls_files.sh"

# signs_in PACKAGE
signs_in() {
    start_server "$scratch/store-$1"
    echo pencil | "$ASHLAR" -s "$scratch/store-$1" user add root --role root
    NODE_NO_WARNINGS=1 MONGODB_PACKAGE=$1 run_node "$here/users_node.js" "$server_address"
    stop_server
}

case_npm_mongodb_signs_in() {
    signs_in mongodb
}

case_npm_mongodb_7_signs_in() {
    needs_node 'npm mongodb 7'
    signs_in mongodb-7
}

# signs_in_over_tls PACKAGE
signs_in_over_tls() {
    serve_tls_users "$scratch/tls"
    NODE_NO_WARNINGS=1 MONGODB_PACKAGE=$1 run_node "$here/users_node.js" "$server_address" "$pki" "$subject"
    stop_server
}

case_npm_mongodb_signs_in_over_tls() {
    signs_in_over_tls mongodb
}

case_npm_mongodb_7_signs_in_over_tls() {
    needs_node 'npm mongodb 7'
    signs_in_over_tls mongodb-7
}

run_cases
