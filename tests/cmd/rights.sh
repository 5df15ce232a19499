#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stores that may only be read, that may not even be looked at, and that are none.
. "$(dirname "$0")/../lib.sh"
chmod 755 "$scratch"

# As an account whose rights count, which root's do not.
plainly() {
    if [ "$(id -u)" != 0 ]; then
        "$ASHLAR" "$@"
    elif setpriv --reuid=65534 --regid=65534 --clear-groups "$ASHLAR" version >/dev/null 2>&1; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$ASHLAR" "$@"
    else
        skip "no other account can run the command"
    fi
}

make_read_only() { # STORE
    find "$1" -type f -exec chmod 444 {} +
    find "$1" -type d -exec chmod 555 {} +
}

case_reading_needs_no_right_to_write() {
    store=$scratch/store
    echo text >"$scratch/in"
    head -c 1000000 /dev/urandom >"$scratch/large"
    "$ASHLAR" -s "$store" put "$scratch/in" file
    "$ASHLAR" -s "$store" put "$scratch/large" large
    "$ASHLAR" -s "$store" lock held -- true
    make_read_only "$store"
    [ "$(plainly -s "$store" ls | tr '\n' ' ')" = 'file large ' ]
    plainly -s "$store" cat file | cmp - "$scratch/in"
    plainly -s "$store" get large - | cmp - "$scratch/large"
    plainly -s "$store" stat file | grep -q '^Length:    5'
    plainly -s "$store" find '{"length": 5}' | grep -q file
    plainly -s "$store" sum file | grep -q "^$(sha256sum <"$scratch/in" | cut -c1-64)"
    plainly -s "$store" df | grep -q test
    plainly -s "$store" check
    plainly -s "$store" locks ls held | grep -q '^"held"'
    plainly -s "$store" -v ls 2>&1 | grep -q 'for reading only'
    for verb in 'rm file' 'mv file other' sweep; do
        got=0
        plainly -s "$store" $verb 2>"$scratch/err" || got=$?
        [ $got = 9 ] || [ $got = 3 ]
        grep -q 'may not be written to' "$scratch/err"
    done
    expect_status 9 plainly -s "$store" put "$scratch/in" new
    [ "$("$ASHLAR" -s "$store" ls | wc -l)" = 2 ]
    chmod -R u+w "$store"
}

# What was acknowledged and lies in the journal alone cannot be passed over.
case_reading_a_store_that_was_not_closed() {
    store=$scratch/unclosed
    for n in $(seq 20); do
        echo $n
    done >"$scratch/in"
    start_server "$store"
    for n in $(seq 20); do
        "$ASHLAR" -s "$store" put "$scratch/in" "file $n"
    done
    kill -9 "$server_pid"
    while kill -0 "$server_pid" 2>/dev/null; do sleep 0.05; done
    make_read_only "$store"
    got=0
    plainly -s "$store" ls >"$scratch/out" 2>"$scratch/err" || got=$?
    if [ $got = 0 ]; then
        [ "$(wc -l <"$scratch/out")" = 20 ]
    else
        [ $got = 9 ]
        grep -q 'was not closed' "$scratch/err"
    fi
    chmod -R u+w "$store"
    [ "$("$ASHLAR" -s "$store" ls | wc -l)" = 20 ]
}

# Without the lock somebody might write meanwhile.
case_a_lock_that_may_not_be_read_is_respected() {
    store=$scratch/locked
    echo text | "$ASHLAR" -s "$store" put - file
    make_read_only "$store"
    chmod 000 "$store/lock"
    expect_status 9 plainly -s "$store" ls
    grep -q 'cannot open .*/lock: Permission denied' "$scratch/err"
    chmod -R u+rw "$store"
}

case_folders_that_may_not_be_looked_into() {
    mkdir "$scratch/closed"
    "$ASHLAR" -s "$scratch/closed/store" init
    chmod 000 "$scratch/closed"
    for verb in ls init 'put /dev/null name'; do
        expect_status 9 plainly -s "$scratch/closed/store" $verb
        grep -q 'Permission denied' "$scratch/err"
        fails grep -q 'there is no store' "$scratch/err"
    done
    chmod 700 "$scratch/closed"
}

# A server writes in the folder; it says that it may not, where commands only read.
case_a_server_needs_to_write() {
    "$ASHLAR" -s "$scratch/unserved" init
    make_read_only "$scratch/unserved"
    expect_status 9 plainly -s "$scratch/unserved" serve --mongo 127.0.0.1:0
    grep -q 'cannot open.*lock' "$scratch/err"
    chmod -R u+w "$scratch/unserved"
}

# A folder that is there, but not for this account, is not called missing.
case_a_folder_above_that_may_not_be_looked_into() {
    mkdir -p "$scratch/closed/in"
    "$ASHLAR" -s "$scratch/source" init
    make_read_only "$scratch/source"
    chmod 700 "$scratch/closed"
    [ "$(id -u)" = 0 ] || chmod 000 "$scratch/closed"
    expect_status 9 plainly -s "$scratch/closed/in/store" init
    grep -q 'Permission denied' "$scratch/err"
    expect_status 9 plainly -s "$scratch/source" backup "$scratch/closed/in/copy"
    grep -q 'Permission denied' "$scratch/err"
    chmod 700 "$scratch/closed"
}

case_files_in_place_of_folders() {
    echo text >"$scratch/in"
    expect_status 4 "$ASHLAR" -s "$scratch/in" ls
    grep -q "$scratch/in is a file and not the folder of a store" "$scratch/err"
    expect_status 5 "$ASHLAR" -s "$scratch/in" put "$scratch/in"
    grep -q 'is a file and not the folder of a store' "$scratch/err"
    for part in ashlar.store lock meta.mdb meta.mdb-lock reserve; do
        rm -rf "$scratch/odd"
        "$ASHLAR" -s "$scratch/odd" init
        rm "$scratch/odd/$part"
        mkdir "$scratch/odd/$part"
        for verb in ls init; do
            expect_status 7 "$ASHLAR" -s "$scratch/odd" $verb
            grep -q "$scratch/odd/$part is a folder where a store has a file" "$scratch/err"
        done
    done
    rm -rf "$scratch/odd"
    "$ASHLAR" -s "$scratch/odd" init
    rmdir "$scratch/odd/segments"
    touch "$scratch/odd/segments"
    expect_status 7 "$ASHLAR" -s "$scratch/odd" ls
    grep -q 'segments is a file where a store has a folder' "$scratch/err"
}

run_cases
