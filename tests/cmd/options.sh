#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Options that every verb has.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
a() {
    "$ASHLAR" -s "$store" "$@"
}

case_dry_run_of_init() {
    a init -n | grep -q "^would make a store at $store\$"
    [ ! -e "$store" ]
    a --json init -n | grep -q '"exists" : false'
    expect_status 4 "$ASHLAR" -s "$scratch/no/store" init -n
    a init
    a init -n | grep -q 'is a store already'
}

case_dry_run_of_lock() {
    a lock -n report -- touch "$scratch/made" >"$scratch/words"
    grep -q "^would run under the lock of report: touch $scratch/made\$" "$scratch/words"
    a lock -n --shared report -- touch "$scratch/made" | grep -q 'under the read lock of report'
    a --json lock -n report -- touch x | grep -q '"command" : \[ "touch", "x" \]'
    [ ! -e "$scratch/made" ]
    ! a locks | grep -q report
}

case_verbs_without_a_dry_run_say_so() {
    a init
    expect_status 2 a backup -n "$scratch/copy"
    grep -q 'backup has no dry run' "$scratch/err"
    [ ! -e "$scratch/copy" ]
    expect_status 2 "$ASHLAR" -s "$scratch/new" serve -n
    [ ! -e "$scratch/new" ]
    expect_status 2 a -n ls
    expect_status 0 a -n ls --help
}

run_cases
