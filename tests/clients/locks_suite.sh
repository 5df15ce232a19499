#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tests that the npm package gridfs-locks brings along, unmodified, against `ashlar serve`.
# usage: ASHLAR=… locks_suite.sh   (npm packages go to $ASH_NODE_FOLDER-locks, default: a scratch folder)
#
# All 71 have to pass in one run, with the driver's own pool of connections.  They are made of waits of 25 to 250 ms, which a
# busy disk or machine stretches: the store is kept in memory where there is a place for that, and server and client are
# given the processor before anything else that runs, where that is allowed.  A run that fails is told, and one more is made.
tests=$(cd "$(dirname "$0")" && pwd)
here=$tests/locks_packages
[ -z "${ASH_NODE_FOLDER:-}" ] || ASH_NODE_FOLDER=$ASH_NODE_FOLDER-locks
. "$tests/../lib.sh"
. "$tests/node.sh"
chrt -f -p 1 $$ 2>/dev/null || true # what is started from here on inherits it

cp "$tests/locks_suite.js" "$node_folder/"

run_suite() { # RUN: each on a new store, since a run that did not end well leaves locks behind
    store=$scratch/store
    [ ! -w /dev/shm ] || store=$(mktemp -d /dev/shm/ashlar-test.XXXXXX)
    start_server "$store/run$1"
    (cd "$node_folder" && ASH_ADDRESS=$server_address node --require ./locks_suite.js node_modules/mocha/bin/_mocha --reporter tap \
        --compilers coffee:coffee-script/register node_modules/gridfs-locks/test/index.coffee) >"$scratch/run$1" 2>&1 || true
    stop_server
    rm -rf "$store"
    [ "$(sed -n 's/^1\.\.//p' "$scratch/run$1")" = 71 ] && [ "$(grep -c '^ok ' "$scratch/run$1")" = 71 ]
}

case_its_own_71_tests() {
    for run in 1 2; do
        run_suite $run && return 0
        echo "run $run: $(grep -c '^ok ' "$scratch/run$run" || true) of the tests have passed"
        grep -A 5 '^not ok' "$scratch/run$run" || tail -20 "$scratch/run$run"
    done
    return 1
}

run_cases
