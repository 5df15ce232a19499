#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `ashlar copy` of what drivers of all ages left: ids of every type, fields at the root, lengths as doubles, files without a name.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
python=/usr/bin/python3
[ -x $python ] || python=python3

start_server "$scratch/source" || exit 1
source_uri="mongodb://$server_address/"
$python "$here/copy_fields.py" make "$source_uri" || exit 1

# same_in STORE: whether a folder has what the source has.
same_in() {
    start_server "$1"
    $python "$here/copy_fields.py" same "$source_uri" "mongodb://$server_address/"
    stop_server
}

case_from_an_address_to_a_folder_and_back() {
    "$ASHLAR" copy "$source_uri" "$scratch/folder"
    same_in "$scratch/folder"
    start_server "$scratch/target"
    "$ASHLAR" copy "$scratch/folder" "mongodb://$server_address/"
    stop_server
    same_in "$scratch/target"
    "$ASHLAR" -s "$scratch/target" check
    [ "$("$ASHLAR" copy "$scratch/folder" "$scratch/target")" = 'copied 0 files (0 B), 21 there already, 0 failed' ]
}

case_changed_fields_are_brought_up_to_date() {
    "$ASHLAR" copy "$source_uri" "$scratch/again"
    "$ASHLAR" -s "$scratch/source" -b old mv id:1 'another name'
    "$ASHLAR" -s "$scratch/source" -b old mv 'id:{}' 'a third name'
    "$ASHLAR" copy "$source_uri" "$scratch/again" | grep -q '^copied 2 files (0 B), 19 there already, 0 failed$'
    same_in "$scratch/again"
}

case_bytes_of_every_id() {
    "$ASHLAR" copy "$scratch/source" "$scratch/bytes"
    "$ASHLAR" -s "$scratch/bytes" -b old --json find '{}' >"$scratch/list"
    [ "$(wc -l <"$scratch/list")" = 21 ]
    $python -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 10)' >"$scratch/data"
    "$ASHLAR" -s "$scratch/bytes" -b old ls -l --all | wc -l
    for id in 1 3.5 '"text"' '""' '{"a": 1, "b": {"c": [2]}}' '{}' '{"$binary": {"base64": "AAE=", "subType": "00"}}' true null \
        '{"$date": "2015-05-17T01:02:03.456Z"}' '{"$timestamp": {"t": 8, "i": 9}}' '{"$code": "f"}' '{"$code": "g", "$scope": {"x": 1}}' \
        '{"$minKey": 1}' '{"$maxKey": 1}' '{"$numberDouble": "NaN"}' '{"$numberDecimal": "4.25"}' 5f3a00000000000000000001; do
        "$ASHLAR" -s "$scratch/bytes" -b old cat "id:$id" | cmp - "$scratch/data"
    done
}

run_cases
