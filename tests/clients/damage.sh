#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Damaged files: clear errors about them, and all others stay as usable as before.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
export XDG_STATE_HOME="$scratch/state"
python=/usr/bin/python3
[ -x $python ] || python=python3
a() {
    "$ASHLAR" -s "$scratch/store" "$@"
}

start_server "$scratch/store" || exit 1
head -c 600000 /dev/urandom >"$scratch/whole"
a -q put "$scratch/whole" a-whole
a -q put "$scratch/whole" z-whole
$python "$here/damage.py" "mongodb://$server_address/" >"$scratch/damaged" || exit 1

case_lists_pass_damaged_files_over() {
    for verb in "ls" "ls -l" "find {}" "gridfs list"; do
        expect_status 3 a $verb
        grep -q 'a-whole' "$scratch/out"
        grep -q 'z-whole' "$scratch/out"
        grep -q 'length is negative' "$scratch/err"
    done
}

case_whole_files_come_back_beside_damaged_ones() {
    expect_status 3 a get -r . "$scratch/back"
    cmp "$scratch/back/a-whole" "$scratch/whole"
    cmp "$scratch/back/z-whole" "$scratch/whole"
    [ "$(ls "$scratch/back" | wc -l)" = 2 ]
}

case_readers_say_what_is_wrong() {
    while read -r name id where; do
        for verb in cat sum; do
            expect_status 7 a $verb "id:$id"
            grep -q "$id" "$scratch/err"
        done
        [ "$where" = chunks ] || expect_status 7 a stat "id:$id"
    done <"$scratch/damaged"
}

case_every_other_verb() {
    while read -r name id where; do
        for words in "get id:$id $scratch/got" "gridfs get_id {\"\$oid\":\"$id\"} -l $scratch/got"; do
            expect_status 7 a $words
            grep -q "$id" "$scratch/err"
            [ ! -e "$scratch/got" ]
        done
        if [ "$where" = document ]; then
            expect_status 7 a cat --range 0-10 "id:$id"
            expect_status 7 a --json stat "id:$id"
            grep -q '^{ "error" : { "code" : "ECORRUPT", "exit" : 7, ' "$scratch/err"
        fi
    done <"$scratch/damaged"
    expect_status 3 a gridfs search e
    grep -q 'z-whole' "$scratch/out"
    # A sweep leaves them what they have, and whoever goes through everything goes on behind them.
    a --json sweep --min-age 1 | grep -q '"chunks" : 0'
    expect_status 3 a copy "$scratch/store" "$scratch/copied"
    [ "$(grep -c . "$scratch/err")" -ge "$(wc -l <"$scratch/damaged")" ]
    for name in a-whole z-whole; do
        "$ASHLAR" -s "$scratch/copied" cat $name | cmp - "$scratch/whole"
    done
    [ "$("$ASHLAR" -s "$scratch/copied" ls | wc -l)" = 2 ]
    "$ASHLAR" -s "$scratch/copied" --json sweep -n --min-age 1 | grep -q '"chunks" : 0'
    expect_status 3 a copy -n "$scratch/store" "$scratch/copied"
    a check
}

case_uploads_beside_them() {
    read -r name id where <"$scratch/damaged"
    expect_status 5 a put --id "$id" "$scratch/whole" taken
    expect_status 5 a put --if-absent "$scratch/whole" negative-length
    a put --resume "$scratch/whole" another
    a cat another | cmp - "$scratch/whole"
    a rm another
}

case_damaged_files_can_be_renamed_and_deleted() {
    while read -r name id where; do
        a mv "id:$id" "renamed $name"
        a rm "id:$id"
    done <"$scratch/damaged"
    [ "$(a ls | tr '\n' ' ')" = 'a-whole z-whole ' ]
    a check
}

run_cases
