#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Names of nothing and of a mebibyte, which drivers can give: what the command makes of them.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
python=/usr/bin/python3
[ -x $python ] || python=python3
a() {
    "$ASHLAR" -s "$scratch/store" "$@"
}

start_server "$scratch/store" || exit 1
$python "$here/names.py" "mongodb://$server_address/" || exit 1
huge_id=$(a --json find '{"filename": {"$regex": "^mm"}}' | sed -n 's/.*"\$oid" : "\([0-9a-f]*\)".*/\1/p')

case_lists_show_them_whole() {
    [ "$(a ls | wc -l)" = 6 ]
    [ "$(a ls | wc -L)" = 1048576 ]
    [ "$(a ls -l | wc -l)" = 6 ]
    [ "$(a --json ls | wc -l)" = 6 ]
    a --json ls | grep -c '"name" : "m\{30000\}' | grep -qx 1
    [ "$(a --json find '{"filename": ""}' | wc -l)" = 1 ]
    a ls | grep -qxF 'two\x0alines\x09tab \x1b[31m'
    [ "$(a gridfs list 2>/dev/null | wc -l)" = 6 ]
}

case_the_name_of_nothing() {
    a stat '' >/dev/null
    [ -z "$(a cat '')" ]
    a get '' "$scratch/nothing"
    [ ! -s "$scratch/nothing" ]
    expect_status 2 a get ''
    grep -q 'no local name' "$scratch/err"
    a mv '' 'something'
    expect_status 4 a stat ''
    # A person who gives it has most likely a variable without a value.
    expect_status 2 a mv 'something' ''
    expect_status 2 a put - ''
    a rm something
    expect_status 4 a rm ''
}

case_the_name_of_a_mebibyte() {
    a stat "id:$huge_id" | wc -c | grep -q '^1048[0-9]*$'
    [ "$(a cat "id:$huge_id")" = "$(head -c 100 /dev/zero | tr '\0' m)" ]
    expect_status 2 a get "id:$huge_id"
    [ "$(wc -c <"$scratch/err")" -lt 1000 ]
    a get "id:$huge_id" "$scratch/huge"
    [ "$(wc -c <"$scratch/huge")" = 100 ]
    a sum "id:$huge_id" | grep -q '^[0-9a-f]\{64\}  '
    a mv "id:$huge_id" short
    [ "$(a cat short)" = "$(cat "$scratch/huge")" ]
    a rm "id:$huge_id"
}

case_names_that_no_folder_takes() {
    expect_status 3 a get -r . "$scratch/out.d"
    [ "$(cat "$scratch/out.d/ordinary")" = ordinary ]
    [ "$(wc -c <"$scratch/err")" -lt 3000 ]
    expect_status 3 a get -r d/ "$scratch/d.d"
    grep -q 'name too long' "$scratch/err"
}

case_they_are_copied_and_checked() {
    a copy "$scratch/store" "$scratch/copied"
    a find '{}' | sort >"$scratch/list"
    "$ASHLAR" -s "$scratch/copied" find '{}' | sort | cmp - "$scratch/list"
    a check
    a sweep -n
}

run_cases
