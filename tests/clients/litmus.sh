#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# litmus, the test of WebDAV's servers, unmodified: all it has, and not one warning.
# usage: ASHLAR=… litmus.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/web.sh"
command -v litmus >/dev/null || skip_all 'no litmus'
start_web || exit 1

# Its exit status is 0 where tests failed, so what it says is read.
expect_litmus() { # SUITE TESTS
    (cd "$scratch" && TESTS=$1 litmus -k "$http/") >"$scratch/litmus" 2>&1 || true
    tr '\r' '\n' <"$scratch/litmus" | grep -E 'FAIL|WARNING|skipped' && return 1
    grep -q "summary for .$1.: of $2 tests run: $2 passed, 0 failed" "$scratch/litmus" || {
        cat "$scratch/litmus"
        return 1
    }
}

case_basic() {
    expect_litmus basic 16
}

case_copymove() {
    expect_litmus copymove 13
}

case_props() {
    expect_litmus props 30
}

case_locks() {
    expect_litmus locks 41
}

case_http() {
    expect_litmus http 4
}

case_the_store_is_whole() {
    expect_sound
}

run_cases
