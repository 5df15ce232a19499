#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mongosh with users.  usage: ASHLAR=… users_mongosh.sh   (mongosh goes to $ASH_MONGOSH_FOLDER, default: a scratch folder)
clients=$(cd "$(dirname "$0")" && pwd)
. "$clients/../lib.sh"
here=$clients/tutorial # whose package.json names the shell
ASH_NODE_FOLDER=${ASH_MONGOSH_FOLDER:-$scratch/mongosh}
. "$clients/node.sh"
. "$clients/mongosh.sh"

start_server "$scratch/store" --auth || exit 1
echo pencil | "$ASHLAR" -s "$scratch/store" user add root --role root >/dev/null || exit 1

case_users_by_the_shells_functions() {
    run_mongosh "mongodb://root:pencil@$server_address/" --eval "const address = \"$server_address\"" --file "$clients/users_mongosh.js" || {
        sed 's/^/# /' "$scratch/out" >&2
        return 1
    }
}

case_show_users() {
    run_mongosh "mongodb://root:pencil@$server_address/admin" --eval 'show users'
    grep -q "_id: 'admin.root'" "$scratch/out"
    fails grep -Eq 'pencil|credentials|storedKey' "$scratch/out"
}

case_wrong_passwords() {
    for mechanism in SCRAM-SHA-1 SCRAM-SHA-256; do
        fails run_mongosh "mongodb://root:wrong@$server_address/?authMechanism=$mechanism" --eval 1
        grep -q 'Authentication failed' "$scratch/out"
        run_mongosh "mongodb://root:pencil@$server_address/?authMechanism=$mechanism" --eval 1
    done
}

run_cases
