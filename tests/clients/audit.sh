#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The audit log of a server, by unmodified pymongo: who did what, and never a secret.
# usage: ASHLAR=… audit.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
python=/usr/bin/python3
[ -x $python ] || python=python3

# audited CASE [ARGS…]: on a server of its own
audited() {
    name=$1
    shift
    start_server "$scratch/$name" --audit "$scratch/$name.log" "$@"
    $python "$here/audit.py" "$server_address" "$scratch/$name.log" "$name"
    stop_server
    tail -n 1 "$scratch/$name.log" | grep -q '"atype" : "shutdown"'
}

case_users_and_structure() { audited users_and_structure; }
case_reads_and_writes() { audited reads_and_writes --audit-filter reads,writes; }
case_users_as_documents() { audited users_as_documents --audit-filter users; }
case_strangers_do_not_fill_it() { audited strangers_do_not_fill_it; }

case_the_command_is_the_owner() {
    start_server "$scratch/owner" --audit "$scratch/owner.log" --audit-filter writes,users
    echo hello >"$scratch/hello"
    "$ASHLAR" -s "$scratch/owner" put "$scratch/hello" hello
    echo pencil-line | "$ASHLAR" -s "$scratch/owner" user add ann --role root
    stop_server
    # The command makes users as documents, and files by transactions: of these what was committed.
    grep '"unix" : ' "$scratch/owner.log" | grep -q '"command" : "insert", "ns" : "admin.system.users", "count" : 1, "ids" : \[ "admin.ann" \]'
    [ "$(grep -c '"command" : "ashlarTransact"' "$scratch/owner.log")" = 1 ]
    grep '"command" : "ashlarTransact"' "$scratch/owner.log" | grep -q '"insert test.fs.files"'
    fails grep -q pencil "$scratch/owner.log"
}

case_who_signs_in_by_http() {
    command -v curl >/dev/null || skip 'no curl'
    start_server "$scratch/web" --audit "$scratch/web.log" --http 127.0.0.1:0
    echo pencil-line | "$ASHLAR" -s "$scratch/web" user add ann --role root
    http=$(sed -n 's|^\(http://[^/]*\)/.*|\1|p' "$scratch/server.out")
    for password in pencil-line chalk-line; do
        curl -s -o "$scratch/page" -u "ann:$password" "$http/"
    done
    curl -s -o "$scratch/page" -H 'Authorization: Bearer ashlar_slate' "$http/"
    stop_server
    grep '"atype" : "authenticate"' "$scratch/web.log" >"$scratch/signs"
    [ "$(wc -l <"$scratch/signs")" = 3 ]
    sed -n 1p "$scratch/signs" | grep '"user" : "ann", "db" : "admin", "mechanism" : "PLAIN"' | grep -q '"result" : 0 }'
    sed -n 2p "$scratch/signs" | grep '"users" : \[ *\]' | grep '"user" : "ann"' | grep -q '"result" : 18 }'
    sed -n 3p "$scratch/signs" | grep '"mechanism" : "token"' | grep -q '"result" : 18 }'
    fails grep -qE 'pencil|chalk|slate' "$scratch/web.log"
}

case_rotated_by_size() {
    start_server "$scratch/size" --audit "$scratch/size.log" --audit-filter writes --audit-size 1 --audit-keep 2
    $python - "$server_address" <<'EOP'
import sys, pymongo
c = pymongo.MongoClient("mongodb://" + sys.argv[1]).files.c
for i in range(30):
    for n in range(500):
        c.database.command("delete", "c", deletes=[{"q": {"_id": j}, "limit": 1} for j in range(10)])
EOP
    stop_server
    [ "$(ls "$scratch" | grep -c '^size\.log')" = 3 ]
    [ "$(stat -c %a "$scratch/size.log.1")" = 600 ]
    [ "$(stat -c %s "$scratch/size.log.2")" -le 1114112 ]
    $python -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1])]' "$scratch/size.log.1"
}

case_a_full_disk() {
    [ -w /dev/full ] || skip 'no /dev/full'
    start_server "$scratch/full" --audit /dev/full
    $python "$here/audit.py" "$server_address" /dev/full full
    # The owner can still make room.
    echo pencil-line | "$ASHLAR" -s "$scratch/full" user add ann --role root
    stop_server
    [ "$(grep -c 'audit log /dev/full cannot be written' "$scratch/server.err")" = 1 ]
}

case_what_cannot_be() {
    expect_status 2 "$ASHLAR" -s "$scratch/x" serve --mongo 127.0.0.1:0 --audit-size 3
    expect_status 2 "$ASHLAR" -s "$scratch/x" serve --mongo 127.0.0.1:0 --audit a --audit-filter writes,everything
    fails "$ASHLAR" -s "$scratch/x" serve --mongo 127.0.0.1:0 --audit "$scratch/no/such/folder/log" 2>"$scratch/said"
    grep -q 'cannot open the audit log' "$scratch/said"
    printf 'audit = %s\naudit-filter = users, writes\naudit-size = 5\n' "$scratch/a.log" >"$scratch/good.conf"
    "$ASHLAR" serve --config "$scratch/good.conf" --check-config
    printf 'audit = %s\naudit-filter = users, nothing\n' "$scratch/a.log" >"$scratch/bad.conf"
    expect_status 2 "$ASHLAR" serve --config "$scratch/bad.conf" --check-config
}

run_cases
