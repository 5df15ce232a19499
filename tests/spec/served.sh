#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Buckets through a server: the specification's cases and the bucket's tests, over the MongoDB backend and the socket in the folder.
. "$(dirname "$0")/../lib.sh"
: "${SPEC_RUNNER:?}" "${BUCKET_TESTS:?set BUCKET_TESTS to the folder of the test executables}"
own=$(dirname "$0")/cases

# with_server COMMAND…: $server_address is set meanwhile.
with_server() {
    status=0
    # The tests delete what has expired themselves, and count it.
    start_server "$scratch/store-$name" --no-background
    "$@" >"$scratch/output" 2>&1 || status=1
    [ $status = 0 ] || grep -E '^not ok|^#|ERROR|FAILED' "$scratch/output" | head -n 20 | sed 's/^/# /' >&2
    stop_server || status=1
    return $status
}

run_own_cases() {
    "$SPEC_RUNNER" "mongodb://$server_address/" "$own"/*.json
}

run_own_cases_by_socket() {
    "$SPEC_RUNNER" "$scratch/store-$name" "$own"/*.json
}

run_bucket_tests() {
    for part in upload download indexes resume timeout alter condition care files; do
        ASH_BUCKET_STORE="mongodb://$server_address/" "$BUCKET_TESTS/test-bucket-$part" || return 1
    done
}

case_cases_over_the_wire() {
    with_server run_own_cases
}

case_cases_by_the_socket_in_the_folder() {
    with_server run_own_cases_by_socket
}

case_bucket_tests_over_the_wire() {
    with_server run_bucket_tests
}

run_cases
