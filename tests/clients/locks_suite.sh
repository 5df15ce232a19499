#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tests that the npm package gridfs-locks brings along, unmodified, against `ashlar serve`.
# usage: ASHLAR=… locks_suite.sh   (npm packages go to $ASH_NODE_FOLDER-locks, default: a scratch folder)
#
# They are made of waits of 25 to 250 ms, which a busy machine stretches.  So what fails may try twice more; each of
# the 71 has to pass.
tests=$(cd "$(dirname "$0")" && pwd)
here=$tests/locks_packages
[ -z "${ASH_NODE_FOLDER:-}" ] || ASH_NODE_FOLDER=$ASH_NODE_FOLDER-locks
. "$tests/../lib.sh"
. "$tests/node.sh"

start_server "$scratch/store" || exit 1
export ASH_ADDRESS="$server_address"
cp "$tests/locks_suite.js" "$node_folder/"

run_suite() { # RUN: appends the names of those that passed
    (cd "$node_folder" && node --require ./locks_suite.js node_modules/mocha/bin/_mocha --reporter tap \
        --compilers coffee:coffee-script/register node_modules/gridfs-locks/test/index.coffee) \
        >"$scratch/run$1" 2>&1 || true
    sed -n 's/^ok [0-9]* //p' "$scratch/run$1" >>"$scratch/passed"
    sort -u "$scratch/passed" >"$scratch/passed.all"
}

case_its_own_71_tests() {
    : >"$scratch/passed"
    for run in 1 2 3; do
        run_suite $run
        count=$(grep -c . "$scratch/passed.all" || true)
        echo "run $run: $count of the tests have passed"
        grep '^not ok' "$scratch/run$run" || true
        [ "$count" -lt 71 ] || break
    done
    [ "$(sed -n 's/^1\.\.//p' "$scratch/run1")" = 71 ]
    [ "$count" = 71 ]
}

run_cases
