#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Test files of the unified test format, by npm mongodb, against the server as a replica set and standing alone: our own cases, and
# the ones that Debian publishes with its Go driver.
# usage: ASHLAR=… unified.sh   (npm packages go to $ASH_NODE_FOLDER)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/node.sh"
published=${ASH_PUBLISHED_SUITES:-/usr/share/gocode/src/go.mongodb.org/mongo-driver/data}

# with_server ARGS… -- FILE…
with_server() {
    options=
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # options are words
    start_server "$scratch/store-$name" --test-commands $options
    status=0
    NODE_PATH=$node_folder/node_modules node "$here/unified/run.js" --expected "$here/unified/expected.txt" \
        "mongodb://$server_address/" "$@" >"$scratch/results" 2>&1 || status=1
    # What failed and why, and whatever ended the run before its end.
    if [ $status != 0 ]; then
        {
            grep -A 3 '^not ok' "$scratch/results" | grep -v '# TODO' | head -n 40
            grep -q '^Bail out!' "$scratch/results" && grep -A 20 '^Bail out!' "$scratch/results"
            grep -q '^1\.\.' "$scratch/results" || tail -n 20 "$scratch/results"
        } | sed 's/^/# /' >&2
    fi
    tail -n 1 "$scratch/results"
    stop_server
    return $status
}

published_files() {
    [ -d "$published" ] || skip "no published suites are installed"
    for folder in crud retryable-reads retryable-writes sessions change-streams command-monitoring versioned-api; do
        find "$published/$folder" -name '*.json'
    done | sort | xargs grep -l '"schemaVersion"'
}

case_own_cases_on_a_replica_set() {
    with_server -- "$here"/unified/cases/*.json
}

case_own_cases_standing_alone() {
    with_server --standalone -- "$here"/unified/cases/*.json
}

case_published_cases_on_a_replica_set() {
    # shellcheck disable=SC2046 # file names without blanks
    with_server -- $(published_files)
}

case_published_cases_standing_alone() {
    # shellcheck disable=SC2046
    with_server --standalone -- $(published_files)
}

run_cases
