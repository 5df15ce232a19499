#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The verbs lock and locks, on a folder.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
a() {
    "$ASHLAR" -s "$store" "$@"
}
export store ASHLAR
nested() { # SCRIPT: for the command under a lock, with a() as here
    printf 'a() { "$ASHLAR" -s "$store" "$@"; }\n%s\n' "$1"
}

case_status_is_passed_on() {
    a init
    a lock x -- true
    expect_status 7 "$ASHLAR" -s "$store" lock x -- sh -c 'exit 7'
    expect_status 143 "$ASHLAR" -s "$store" lock x -- sh -c 'kill $$'
    expect_status 127 "$ASHLAR" -s "$store" lock x -- "$scratch/no such program"
    expect_status 2 "$ASHLAR" -s "$store" lock x
    expect_status 2 "$ASHLAR" -s "$store" lock --wait soon x -- true
}

case_command_sees_its_lock_and_the_store() {
    a init
    a lock y -- sh -c "$(nested 'echo "$ASHLAR_LOCK_NAME $ASHLAR_LOCK_TOKEN" | a put - note')"
    a cat note | grep -q '^y [1-9]'
    before=$(a cat note | cut -d' ' -f2)
    a lock y -- sh -c 'echo $ASHLAR_LOCK_TOKEN' >"$scratch/token"
    [ "$(cat "$scratch/token")" -gt "$before" ]
}

case_exclusion() {
    a init
    a lock z -- sh -c "$(nested '
        a lock z -- true; [ $? = 6 ] || exit 1
        a lock --shared z -- true; [ $? = 6 ] || exit 2
        a lock other -- true || exit 3')"
    a lock --shared z -- sh -c "$(nested '
        a lock --shared z -- true || exit 1
        a lock z -- true; [ $? = 6 ] || exit 2')"
    expect_status 0 "$ASHLAR" -s "$store" lock z -- true
}

case_waiting() {
    a init
    mkfifo "$scratch/begun"
    a lock w -- sh -c "echo >'$scratch/begun'; sleep 0.5; echo first >>'$scratch/order'" &
    read -r _ <"$scratch/begun"
    a lock --wait 20 w -- sh -c "echo second >>'$scratch/order'"
    wait
    [ "$(tr '\n' ' ' <"$scratch/order")" = 'first second ' ]
}

case_locks_are_listed() {
    a init
    a lock --meta 'a note' listed -- sh -c "$(nested 'a locks; a --json locks ls')" >"$scratch/out"
    grep -q '^"listed"  write  until 2' "$scratch/out"
    grep -q 'held by process [0-9]* on .*since 2' "$scratch/out"
    grep -q 'a note' "$scratch/out"
    grep -q '"id" : "listed", "state" : "write"' "$scratch/out"
    a locks | grep -q '^"listed"  free'
    a lock id:42 -- sh -c "$(nested 'a locks')" | grep -q '^42  write'
}

case_broken_lock_ends_the_command() {
    a init
    got=0
    a lock --lease 1 broken -- sh -c "$(nested 'a locks break broken --reason "it hangs"
        sleep 20 & wait $!; exit 3')" 2>"$scratch/err" || got=$?
    [ $got = 6 ]
    grep -q 'taken over' "$scratch/err"
    a locks | grep -q 'it hangs'
    expect_status 4 "$ASHLAR" -s "$store" locks break nothing --reason x
    expect_status 2 "$ASHLAR" -s "$store" locks break broken
    expect_status 2 "$ASHLAR" -s "$store" locks sing
}

run_cases
