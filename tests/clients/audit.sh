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

# http_server NAME [ARGS…]: with ann, who may write, and $http
http_server() {
    name=$1
    shift
    start_server "$scratch/$name" --audit "$scratch/$name.log" --http 127.0.0.1:0 "$@"
    echo pencil-line | "$ASHLAR" -s "$scratch/$name" user add ann --role readWriteAnyDatabase
    http=$(sed -n 's|^\(http://[^/]*\)/.*|\1|p' "$scratch/server.out")
}

# asks STATUS PATH [ARGS…]: as ann
asks() {
    wanted=$1
    path=$2
    shift 2
    got=$(curl -s -o "$scratch/page" -w '%{http_code}' -u ann:pencil-line "$@" "$http$path")
    [ "$got" = "$wanted" ] || { echo "$path: $got and not $wanted" >&2; return 1; }
}

# told COUNT TEXT…: so many lines of $log have all of the texts
told() {
    count=$1
    shift
    cp "$log" "$scratch/found"
    for text in "$@"; do
        grep -F -e "$text" "$scratch/found" >"$scratch/fewer" || true
        mv "$scratch/fewer" "$scratch/found"
    done
    [ "$(wc -l <"$scratch/found")" = "$count" ] || { echo "not $count of: $*" >&2; cat "$log" >&2; return 1; }
}

case_what_is_done_by_http() {
    command -v curl >/dev/null || skip 'no curl'
    http_server done --audit-filter authentication,users,structure,writes,reads
    log=$scratch/done.log
    asks 201 /a.txt -T "$here/audit.sh"
    asks 201 '/.ashlar/buckets/files/fs?name=slate' -X POST -d chalk
    asks 200 /.ashlar/buckets/files/fs/name/slate
    asks 201 /.ashlar/objects/pictures -X PUT -d '{}'
    asks 201 /.ashlar/objects/pictures/data/one -X PUT -d chalk
    asks 204 /.ashlar/objects/pictures -X DELETE
    asks 403 /.ashlar/metrics
    curl -s -o "$scratch/page" "$http/a.txt"
    cookie=$(curl -s -o "$scratch/page" -D - -H "Origin: $http" -d 'name=ann&password=pencil-line' "$http/.ashlar/login" | sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p')
    curl -s -o "$scratch/page" -b "$cookie" -H "Origin: $http" -X POST "$http/.ashlar/logout"
    stop_server
    told 1 '"command" : "PUT", "path" : "/a.txt", "status" : 201' '"user" : "ann", "db" : "admin"' '"role" : "readWriteAnyDatabase"' '"result" : 0'
    told 1 '"path" : "/.ashlar/buckets/files/fs", "name" : "slate", "status" : 201'
    told 1 '"GET", "path" : "/.ashlar/buckets/files/fs/name/slate", "status" : 200'
    told 1 '"PUT", "path" : "/.ashlar/objects/pictures", "status" : 201'
    told 1 '"PUT", "path" : "/.ashlar/objects/pictures/data/one", "status" : 201'
    told 1 '"DELETE", "path" : "/.ashlar/objects/pictures", "status" : 204'
    told 1 '"path" : "/.ashlar/metrics", "status" : 403' '"result" : 13'
    told 1 '"path" : "/a.txt"'
    told 1 '"atype" : "logout"' '"user" : "ann"'
    fails grep -qE "pencil|chalk|${cookie#*=}" "$log"
    $python -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1])]' "$log"
}

case_what_is_done_by_nats() {
    start_server "$scratch/nats" --audit "$scratch/nats.log" --audit-filter structure,writes,reads --nats 127.0.0.1:0
    log=$scratch/nats.log
    nats=$(sed -n 's|^\(nats://.*\)$|\1|p' "$scratch/server.out" | head -n 1)
    "$ASHLAR" -s "$nats" object add pictures 2>"$scratch/said" || {
        stop_server
        grep -q 'libnats' "$scratch/said" && skip 'no libnats'
        return 1
    }
    head -c 1000000 "$ASHLAR" >"$scratch/one" # some chunks
    "$ASHLAR" -s "$nats" object put pictures "$scratch/one" --name one
    "$ASHLAR" -s "$nats" object get -O "$scratch/two" pictures one
    "$ASHLAR" -s "$nats" object rm pictures one
    stop_server
    told 1 '"command" : "STREAM.CREATE", "store" : "pictures" }' '"users" : [  ]' '"result" : 0'
    told 2 '"command" : "PUB", "store" : "pictures", "object" : "one" }'
    [ "$(grep -c '"command" : "\(DIRECT.GET\|CONSUMER.CREATE\)", "store" : "pictures", "nuid"' "$log")" = 1 ]
    cmp "$scratch/one" "$scratch/two"
}

case_structure_alone_by_http() {
    command -v curl >/dev/null || skip 'no curl'
    http_server structure --audit-filter structure
    log=$scratch/structure.log
    asks 201 /a.txt -T "$here/audit.sh"
    asks 201 /.ashlar/objects/pictures -X PUT -d '{}'
    asks 201 /.ashlar/objects/pictures/data/one -X PUT -d chalk
    asks 200 /.ashlar/objects
    stop_server
    told 1 authCheck
    told 1 '/.ashlar/objects/pictures", "status" : 201'
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

case_a_full_disk_by_http() {
    [ -w /dev/full ] || skip 'no /dev/full'
    command -v curl >/dev/null || skip 'no curl'
    start_server "$scratch/full-by-http" --audit /dev/full --audit-filter writes --http 127.0.0.1:0
    http=$(sed -n 's|^\(http://[^/]*\)/.*|\1|p' "$scratch/server.out")
    $python - "$http" <<'EOP'
import http.client, sys
c = http.client.HTTPConnection(sys.argv[1].removeprefix("http://"))

def ask(method, path, body=None):
    c.request(method, path, body)
    answer = c.getresponse()
    answer.read()
    return answer.status

path = "/none/" + "x" * 200
for n in range(20000):
    status = ask("DELETE", path)
    if status != 404:
        break
assert status == 507 and n > 100, (status, n)
assert ask("PUT", "/a", b"a") == 507
assert ask("GET", "/a") == 404
assert ask("GET", "/") == 200
assert ask("GET", "/health") == 200
EOP
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
