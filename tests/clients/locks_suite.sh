#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tests that the npm package gridfs-locks brings along, unmodified, against `ashlar serve`.
# usage: ASHLAR=… locks_suite.sh   (npm packages go to $ASH_NODE_FOLDER-locks, default: a scratch folder)
#
# All 71 have to pass, with the driver's own pool of connections: they rely on the order in which requests and answers
# of several connections are dealt with.
tests=$(cd "$(dirname "$0")" && pwd)
here=$tests/locks_packages
[ -z "${ASH_NODE_FOLDER:-}" ] || ASH_NODE_FOLDER=$ASH_NODE_FOLDER-locks
. "$tests/../lib.sh"
. "$tests/node.sh"

cp "$tests/locks_suite.js" "$node_folder/"

case_its_own_71_tests() {
    start_server "$scratch/store"
    (cd "$node_folder" && ASH_ADDRESS=$server_address node --require ./locks_suite.js node_modules/mocha/bin/_mocha --reporter tap \
        --compilers coffee:coffee-script/register node_modules/gridfs-locks/test/index.coffee) >"$scratch/run" 2>&1 || true
    stop_server
    [ "$(sed -n 's/^1\.\.//p' "$scratch/run")" = 71 ] && [ "$(grep -c '^ok ' "$scratch/run")" = 71 ] && return 0
    grep -A 5 '^not ok' "$scratch/run" || tail -20 "$scratch/run"
    return 1
}

run_cases
