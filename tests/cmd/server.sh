#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command beside a server, and what goes wrong with stores: each a clear message and its exit code.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store

case_works_beside_a_server() {
    start_server "$scratch/beside"
    head -c 1000000 /dev/urandom >"$scratch/in"
    "$ASHLAR" -s "$scratch/beside" put "$scratch/in" file
    "$ASHLAR" -s "$scratch/beside" get file "$scratch/back"
    cmp "$scratch/in" "$scratch/back"
    "$ASHLAR" -s "$scratch/beside" ls -l | grep -q file
    "$ASHLAR" -s "$scratch/beside" check
    "$ASHLAR" -s "mongodb://$server_address/test" cat file | cmp - "$scratch/in"
    "$ASHLAR" -s "$scratch/beside" mv file renamed
    "$ASHLAR" -s "$scratch/beside" sum renamed | grep -q "$(sha256sum <"$scratch/in" | cut -c1-64)"
    "$ASHLAR" -s "$scratch/beside" rm renamed
    stop_server
    [ "$("$ASHLAR" -s "$scratch/beside" ls | wc -l)" = 0 ]
}

case_every_read_concern_of_an_address() {
    start_server "$scratch/levels"
    for level in local available majority linearizable snapshot; do
        at="mongodb://$server_address/$level?readConcernLevel=$level"
        "$ASHLAR" -s "$at" put "$0" file
        "$ASHLAR" -s "$at" cat file | cmp - "$0"
        "$ASHLAR" -s "$at" ls -l | grep -q file
        "$ASHLAR" -s "$at" sum file
        "$ASHLAR" -s "$at" df
        "$ASHLAR" -s "$at" sweep
        "$ASHLAR" -s "$at" mv file renamed
        "$ASHLAR" -s "$at" rm renamed
        "$ASHLAR" -s "$at" lock --wait 60 it -- true
    done
    stop_server
}

case_the_name_of_the_replica_set() {
    start_server "$scratch/set" --replica-set rs-0.files
    at="mongodb://$server_address/test?replicaSet=rs-0.files"
    echo x | "$ASHLAR" -s "$at" put - file
    [ "$("$ASHLAR" -s "$at" cat file)" = x ]
    [ "$("$ASHLAR" -s "$scratch/set" cat file)" = x ]
    stop_server
    for name in '' 'a/b' 'a b' 'ä' "$(printf 'n%.0s' $(seq 65))"; do
        expect_status 2 "$ASHLAR" -s "$scratch/set" serve --mongo 127.0.0.1:0 --replica-set "$name"
        grep -q 'replica-set' "$scratch/err"
    done
    expect_status 2 "$ASHLAR" -s "$scratch/set" serve --mongo 127.0.0.1:0 --standalone --replica-set rs0
}

case_works_beside_a_server_in_a_deep_folder() {
    deep=$scratch/$(printf 'deep%.0s' $(seq 50))
    mkdir "$deep"
    start_server "$deep/store"
    echo x | "$ASHLAR" -s "$deep/store" put - file
    [ "$("$ASHLAR" -s "$deep/store" cat file)" = x ]
    stop_server
}

# A server takes the folder a moment before it answers; whoever comes in between must not be sent away.
case_at_once_after_a_server_began() {
    for try in 1 2 3 4 5 6 7 8; do
        "$ASHLAR" -s "$scratch/at-once" serve --mongo 127.0.0.1:0 >"$scratch/server.out" 2>"$scratch/server.err" &
        server_pid=$!
        echo "$server_pid" >>"$scratch/pids"
        timeout 4 "$ASHLAR" -s "$scratch/at-once" put --name "file $try" "$0"
        stop_server
    done
    [ "$("$ASHLAR" -s "$scratch/at-once" ls | wc -l)" = 8 ]
}

case_second_server_on_the_same_folder() {
    start_server "$scratch/twice"
    expect_status 6 "$ASHLAR" -s "$scratch/twice" serve --mongo 127.0.0.1:0
    grep -q 'in use by process' "$scratch/err"
    echo x | "$ASHLAR" -s "$scratch/twice" put - still
    stop_server
}

case_port_in_use() {
    start_server "$scratch/port"
    expect_status 5 "$ASHLAR" -s "$scratch/port2" serve --mongo "$server_address"
    [ ! -e "$scratch/port2" ]
    expect_status 6 "$ASHLAR" -s "$scratch/port" serve --mongo "$server_address"
    stop_server
}

case_only_loopback() {
    for address in 0.0.0.0:0 [::]:0 192.0.2.1:27017; do
        expect_status 9 "$ASHLAR" -s "$scratch/open" serve --mongo "$address"
        grep -qi 'loopback' "$scratch/err"
    done
    expect_status 2 "$ASHLAR" -s "$scratch/open" serve --mongo 127.0.0.1:99999
    [ ! -e "$scratch/open" ]
}

case_only_folders_are_served() {
    expect_status 1 "$ASHLAR" -s mongodb://127.0.0.1:1/ serve --mongo 127.0.0.1:0
    grep -q 'only a store in a folder' "$scratch/err"
}

case_missing_folder() {
    expect_status 4 "$ASHLAR" -s "$scratch/nowhere" ls
    [ ! -e "$scratch/nowhere" ]
    expect_status 4 "$ASHLAR" -s "$scratch/no/parent" serve --mongo 127.0.0.1:0
    expect_status 4 "$ASHLAR" -s "$scratch/no/parent" put "$0"
}

case_not_a_store() {
    mkdir "$scratch/other"
    echo hello >"$scratch/other/file"
    expect_status 2 "$ASHLAR" -s "$0" ls || expect_status 4 "$ASHLAR" -s "$0" ls
    expect_status 4 "$ASHLAR" -s "$scratch/other" ls
    fails grep init "$scratch/err"
    expect_status 5 "$ASHLAR" -s "$scratch/other" init
    grep -q 'not empty: file' "$scratch/err"
    fails grep repair "$scratch/err"
    [ "$(ls "$scratch/other")" = file ]
}

case_future_format_version() {
    echo x | "$ASHLAR" -s "$scratch/future" put - file
    cp "$scratch/future/ashlar.store" "$scratch/superblock"
    # The version stands behind the magic of eight bytes, little-endian.
    printf '\377\000\000\000' | dd of="$scratch/future/ashlar.store" bs=1 seek=8 conv=notrunc 2>/dev/null
    for verb in ls check; do
        expect_status 1 "$ASHLAR" -s "$scratch/future" $verb
        grep -q 'version' "$scratch/err"
    done
    expect_status 1 "$ASHLAR" -s "$scratch/future" put "$0"
    cp "$scratch/superblock" "$scratch/future/ashlar.store"
    [ "$("$ASHLAR" -s "$scratch/future" cat file)" = x ]
}

# Each file would wait for a server of its own accord, and there may be thousands.
case_server_dies_under_a_command() {
    mkdir -p "$scratch/many"
    number=0
    while [ $number -lt 2000 ]; do
        number=$((number + 1))
        echo $number >"$scratch/many/$number"
    done
    start_server "$scratch/dies"
    # As soon as some files have come.
    (
        tries=0
        while [ $tries -lt 2000 ] && [ "$("$ASHLAR" -s "$scratch/dies" ls many 2>/dev/null | wc -l)" -lt 5 ]; do
            tries=$((tries + 1))
        done
        kill -9 "$server_pid"
    ) &
    expect_status 3 timeout 60 "$ASHLAR" -s "$scratch/dies" put -r "$scratch/many" many
    wait
    grep -q 'out of reach' "$scratch/err"
    [ "$(wc -l <"$scratch/err")" -lt 10 ]
    "$ASHLAR" -s "$scratch/dies" check
}

# A small file system of our own; needs the right to mount.
with_small_disk() { # SIZE
    mkdir -p "$scratch/disk"
    mount -t tmpfs -o "size=$1" ashlar-test "$scratch/disk" 2>/dev/null
}

case_read_only_folder() {
    with_small_disk 64m || skip "this account may not mount"
    echo x | "$ASHLAR" -s "$scratch/disk/store" put - file
    mount -o remount,ro "$scratch/disk"
    status=0
    expect_status 9 "$ASHLAR" -s "$scratch/disk/store" put "$0" || status=1
    grep -qi 'read-only' "$scratch/err" || status=1
    expect_status 9 "$ASHLAR" -s "$scratch/disk/store" serve --mongo 127.0.0.1:0 || status=1
    umount "$scratch/disk"
    return $status
}

case_full_disk() {
    with_small_disk 48m || skip "this account may not mount"
    status=0
    echo precious | "$ASHLAR" -s "$scratch/disk/store" put - kept || status=1
    head -c 100000000 /dev/zero >"$scratch/big"
    expect_status 8 "$ASHLAR" -s "$scratch/disk/store" put "$scratch/big" big || status=1
    grep -qi 'space' "$scratch/err" || status=1
    [ "$("$ASHLAR" -s "$scratch/disk/store" cat kept)" = precious ] || status=1
    [ "$("$ASHLAR" -s "$scratch/disk/store" ls)" = kept ] || status=1
    "$ASHLAR" -s "$scratch/disk/store" check || status=1
    # Of the upload that did not fit nothing stays.
    "$ASHLAR" -s "$scratch/disk/store" --json df | grep -q '"objects" : 3,' || status=1
    "$ASHLAR" -s "$scratch/disk/store" rm kept || status=1
    echo again | "$ASHLAR" -s "$scratch/disk/store" put - after || status=1
    umount "$scratch/disk"
    return $status
}

# Until not even the smallest file fits; then deleting must work, and make room.
case_full_to_the_brim() {
    with_small_disk 24m || skip "this account may not mount"
    status=0
    export ASHLAR_STORE="$scratch/disk/store"
    "$ASHLAR" put -q "$0" first || status=1
    for bytes in 1000000 2000 1; do
        head -c $bytes /dev/urandom >"$scratch/one"
        number=0
        while "$ASHLAR" put -q "$scratch/one" $bytes/$number 2>"$scratch/err"; do
            number=$((number + 1))
        done
        grep -q 'No space left' "$scratch/err" || status=1
    done
    "$ASHLAR" rm first || status=1
    "$ASHLAR" rm -r 1000000/ || status=1
    "$ASHLAR" put "$0" again || status=1
    "$ASHLAR" cat again | cmp - "$0" || status=1
    "$ASHLAR" check || status=1
    unset ASHLAR_STORE
    umount "$scratch/disk"
    return $status
}

case_full_disk_under_a_server() {
    with_small_disk 48m || skip "this account may not mount"
    status=0
    start_server "$scratch/disk/served"
    echo precious | "$ASHLAR" -s "$scratch/disk/served" put - kept || status=1
    expect_status 8 "$ASHLAR" -s "$scratch/disk/served" put "$scratch/big" big || status=1
    [ "$("$ASHLAR" -s "$scratch/disk/served" cat kept)" = precious ] || status=1
    [ "$("$ASHLAR" -s "$scratch/disk/served" ls)" = kept ] || status=1
    "$ASHLAR" -s "$scratch/disk/served" --json df | grep -q '"objects" : 3,' || status=1
    stop_server || status=1
    "$ASHLAR" -s "$scratch/disk/served" check || status=1
    umount "$scratch/disk"
    return $status
}

# Whoever removes or lists a file looks at it first; nothing is kept for one who is gone.
case_room_on_a_full_disk_is_there_at_once() {
    with_small_disk 32m || skip "this account may not mount"
    status=0
    start_server "$scratch/disk/room"
    export ASHLAR_STORE="$scratch/disk/room"
    head -c 3000000 /dev/urandom >"$scratch/one"
    number=0
    while "$ASHLAR" put -q "$scratch/one" file/$number 2>"$scratch/err"; do
        number=$((number + 1))
    done
    grep -q 'No space left' "$scratch/err" || status=1
    "$ASHLAR" ls >"$scratch/out" || status=1
    for number in 0 1 2 3; do
        "$ASHLAR" rm file/$number || status=1
    done
    for number in 0 1 2; do
        "$ASHLAR" put "$scratch/one" again/$number || status=1
    done
    "$ASHLAR" cat again/2 | cmp - "$scratch/one" || status=1
    unset ASHLAR_STORE
    stop_server || status=1
    "$ASHLAR" -s "$scratch/disk/room" check || status=1
    umount "$scratch/disk"
    return $status
}

# Something must be said before the driver's half minute is over; nothing secret, and nothing with --quiet.
case_waiting_for_nobody() {
    nobody='mongodb://me:secret@127.0.0.1:1/test?serverSelectionTimeoutMS=1500&authSource=admin'
    expect_status 1 "$ASHLAR" -s "$nobody" ls
    head -n 1 "$scratch/err" | grep -qx 'ashlar ls: waiting for 127.0.0.1:1 to answer'
    expect_status 1 "$ASHLAR" --json -s "$nobody" ls
    head -n 1 "$scratch/err" | grep -qxF '{ "note" : { "verb" : "ls", "message" : "waiting for 127.0.0.1:1 to answer" } }'
    expect_status 1 "$ASHLAR" -q -s "$nobody" ls
    fails grep -q waiting "$scratch/err"
    expect_status 1 "$ASHLAR" copy "$nobody" "$scratch/copied"
    grep -qx 'ashlar copy: waiting for 127.0.0.1:1 to answer' "$scratch/err"
    expect_status 1 "$ASHLAR" gridfs --uri "$nobody" list
    grep -q 'waiting for 127.0.0.1:1 to answer' "$scratch/err"
}

# The driver's own half minute is for deployments that may elect somebody else.
case_a_single_server_that_is_gone() {
    for uri in mongodb://127.0.0.1:1 mongodb://127.0.0.1:1/ 'mongodb://127.0.0.1:1/?appName=test'; do
        expect_status 1 timeout 25 "$ASHLAR" -s "$uri" ls
        grep -qx 'ashlar ls: no suitable server answers: .*127.0.0.1:1' "$scratch/err"
    done
    start_server "$scratch/dying"
    mkfifo "$scratch/slowly"
    timeout 60 "$ASHLAR" -s "mongodb://$server_address/" put - file <"$scratch/slowly" 2>"$scratch/err" &
    exec 7>"$scratch/slowly"
    head -c 60000000 /dev/zero >&7
    tries=0
    until [ "$("$ASHLAR" --json -s "$scratch/dying" df | sed -n 's/.*"objects" : \([0-9]*\).*/\1/p' | head -n 1)0" -gt 0 ]; do
        tries=$((tries + 1))
        [ $tries -lt 400 ]
        sleep 0.05
    done
    kill -KILL "$server_pid"
    (head -c 60000000 /dev/zero >&7) 2>/dev/null || true
    exec 7>&-
    status=0
    wait $! || status=$?
    server_pid=
    [ $status = 1 ]
    grep -q '^ashlar put: .*: \(no suitable server answers\|the connection to the server was lost\): ' "$scratch/err"
}

# A port alone is one of this machine; 0 is any.
case_a_bare_port() {
    for address in :0 0; do
        rm -f "$scratch/out" # of the server before
        "$ASHLAR" -s "$scratch/bare" serve --mongo $address >"$scratch/out" 2>"$scratch/server.err" &
        server_pid=$!
        echo $server_pid >>"$scratch/pids"
        tries=0
        until grep -q '^mongodb://127\.0\.0\.1:[1-9][0-9]*/$' "$scratch/out"; do
            tries=$((tries + 1))
            [ $tries -lt 400 ]
            sleep 0.05
        done
        "$ASHLAR" -s "$(cat "$scratch/out")" df >/dev/null
        stop_server
    done
    for address in 70000 :x x: : ''; do
        expect_status 2 "$ASHLAR" -s "$scratch/bare" serve --mongo "$address"
    done
}

# The other protocol: its own addresses, with the same rules, and the same store behind them.
case_nats_beside_mongodb() {
    start_server "$scratch/nats" --nats 127.0.0.1:0,[::1]:0
    [ "$(grep -c '^nats://.*:[1-9][0-9]*$' "$scratch/server.out")" = 2 ]
    nats_address=$(sed -n 's|^nats://\(127.*\)|\1|p' "$scratch/server.out")
    said=$(/usr/bin/env python3 -c 'import socket, sys
host, port = sys.argv[1].split(":")
with socket.create_connection((host, int(port)), 20) as s:
    f = s.makefile("rwb", 0)
    f.write(b"CONNECT {}\r\nSUB in 1\r\nPUB $JS.API.INFO in 0\r\n\r\n")
    print(f.readline().decode().strip(), f.readline().decode().split()[:3])' "$nats_address")
    case "$said" in
    'INFO {"server_id":"'*'"server_name":"ashlar"'*"['MSG', 'in', '1']") ;;
    *) return 1 ;;
    esac
    expect_status 5 "$ASHLAR" -s "$scratch/nats2" serve --mongo 127.0.0.1:0 --nats "$nats_address"
    expect_status 9 "$ASHLAR" -s "$scratch/nats2" serve --mongo 127.0.0.1:0 --nats 0.0.0.0:0
    grep -qi 'loopback' "$scratch/err"
    expect_status 2 "$ASHLAR" -s "$scratch/nats2" serve --mongo 127.0.0.1:0 --nats :x
    [ ! -e "$scratch/nats2" ]
    stop_server
    # Not unless it is asked for.
    start_server "$scratch/nats"
    fails grep '^nats:' "$scratch/server.out"
    stop_server
}

# Without a terminal nobody has hung up; on one, that ends it.
case_a_server_and_a_hang_up() {
    start_server "$scratch/hung"
    kill -HUP "$server_pid"
    echo content | "$ASHLAR" -s "mongodb://$server_address/" put - file
    stop_server
    python3 - "$ASHLAR" "$scratch/hung" <<'END'
import os, pty, signal, sys
child, terminal = pty.fork()
if child == 0:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.execv(sys.argv[1], [sys.argv[1], "-s", sys.argv[2], "serve", "--mongo", "127.0.0.1:0"])
seen = b""
while b"mongodb://" not in seen:
    seen += os.read(terminal, 1000)
os.kill(child, signal.SIGHUP)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
END
    "$ASHLAR" -s "$scratch/hung" check
}

# With --json for programs, with -q only what is wrong.
case_log_of_a_server() {
    for how in '' --json -q; do
        "$ASHLAR" -s "$scratch/logged" $how serve --mongo 127.0.0.1:0 --expire-every 1 >"$scratch/out" 2>"$scratch/server.err" &
        server_pid=$!
        echo $server_pid >>"$scratch/pids"
        tries=0
        until [ -s "$scratch/out" ]; do
            tries=$((tries + 1))
            [ $tries -lt 200 ]
            sleep 0.05
        done
        echo x | "$ASHLAR" -s "$scratch/logged" -q put --ttl 1 - file
        tries=0
        while "$ASHLAR" -s "$scratch/logged" stat file >/dev/null 2>&1; do
            tries=$((tries + 1))
            [ $tries -lt 200 ]
            sleep 0.05
        done
        # Nobody sees an expired file; the server deletes it a moment later, and says so.
        tries=0
        while [ "$how" != -q ] && ! grep -q '1 file expired' "$scratch/server.err"; do
            tries=$((tries + 1))
            [ $tries -lt 200 ]
            sleep 0.05
        done
        stop_server
        case $how in
        '') grep -q '^20[0-9TZ:-]* info 1 file expired$' "$scratch/server.err" ;;
        --json) grep -q '^{ "log" : { "time" : .*, "level" : "info", "message" : "1 file expired" } }$' "$scratch/server.err" ;;
        *) [ ! -s "$scratch/server.err" ] ;;
        esac
    done
}

# Each address as drivers take it.
case_uris_of_a_server() {
    : >"$scratch/json" # looked at before the server has begun, perhaps
    "$ASHLAR" --json -s "$scratch/uris" serve --mongo 127.0.0.1:0 --nats 127.0.0.1:0 >"$scratch/json" 2>/dev/null &
    echo $! >>"$scratch/pids"
    tries=0
    while [ "$(wc -l <"$scratch/json")" -lt 3 ]; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    echo x | "$ASHLAR" -s "$scratch/uris" -q put - file
    sed -n 's/.*"listening" : "\([^"]*\)", "uri" : "\([^"]*\)".*/\1 \2/p' "$scratch/json" >"$scratch/uri-list"
    grep -q '^127\.0\.0\.1:\([0-9]*\) mongodb://127\.0\.0\.1:\1/$' "$scratch/uri-list"
    grep -q '^127\.0\.0\.1:\([0-9]*\) nats://127\.0\.0\.1:\1$' "$scratch/uri-list"
    [ "$(wc -l <"$scratch/uri-list")" -ge 3 ]
    for uri in $(sed -n 's/.* \(mongodb:\)/\1/p' "$scratch/uri-list"); do
        [ "$("$ASHLAR" -s "$uri" ls)" = file ]
    done
    kill $!
}

# by_driver PROGRAM: with `client`, and `raw(NAME, METADATA)` that makes a file of whose texts nobody asks what they hold.
by_driver() {
    python=/usr/bin/python3
    [ -x $python ] || python=python3
    $python -c 'import bson, datetime, pymongo, sys
from bson.raw_bson import RawBSONDocument
client = pymongo.MongoClient(sys.argv[1])
def raw(name, metadata):
    plain = {"_id": bson.ObjectId(), "length": 0, "chunkSize": 4, "uploadDate": datetime.datetime(2020, 1, 1),
             "filename": "NAME" + "x" * (len(name) - 4), "metadata": {"k": "META" + "x" * (len(metadata) - 4)}}
    data = bson.encode(plain).replace(plain["filename"].encode(), name).replace(plain["metadata"]["k"].encode(), metadata)
    client["test"]["fs.files"].insert_one(RawBSONDocument(data))
'"$1" "mongodb://$server_address/" || return 1
}

# As a terminal sees it: no control characters, those of two bytes neither.
is_tame() { # FILE
    /usr/bin/env python3 -c 'import sys
text = open(sys.argv[1], "rb").read().decode("utf-8")
bad = [c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)]
assert not bad, bad' "$1" || return 1
}

case_names_that_are_not_utf8_are_shown() {
    start_server "$scratch/strange"
    by_driver 'raw(b"bad\xff\xfename", b"good")
raw(b"fine", b"meta\xc3(data")
raw(b"esc\x1b[31m", b"c1\xc2\x9b31m")
raw(b"c1\xc2\x9b31m", b"del\x7f")'
    for verb in 'ls' 'ls -l' 'ls -a' 'find {}' 'stat fine'; do
        "$ASHLAR" -s "$scratch/strange" --json $verb >"$scratch/out"
        is_tame "$scratch/out"
        [ "$verb" = 'stat fine' ] || [ "$(wc -l <"$scratch/out")" = 4 ]
        python3 -c 'import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    json.loads(line)' "$scratch/out"
        "$ASHLAR" -s "$scratch/strange" $verb >"$scratch/out"
        is_tame "$scratch/out"
    done
    stop_server
}

case_fields_of_clients_are_not_taken_for_ours() {
    start_server "$scratch/fields"
    by_driver 'client["test"]["fs.files"].insert_one({"length": 0, "chunkSize": 4, "uploadDate": datetime.datetime(2020, 1, 1),
        "filename": "dup", "name": "evil", "id": 7, "sha256": "f" * 64, "md5": "m"})'
    "$ASHLAR" -s "$scratch/fields" --json stat dup >"$scratch/out"
    [ "$(grep -c 'evil\|ffff\|"id" : 7' "$scratch/out")" = 0 ]
    grep -q '"name" : "dup".*"md5" : "m"' "$scratch/out"
    stop_server
}

case_clients_cannot_forge_the_log() {
    start_server "$scratch/forged" -v
    by_driver 'try:
    client["test"].command("x\n2026-11-22T00:00:00.000Z error a commit failed\n\x1b[31m\u009b32m")
except pymongo.errors.OperationFailure:
    pass'
    stop_server
    grep -q 'a commit failed' "$scratch/server.err"
    is_tame "$scratch/server.err"
    [ "$(grep -c '^2026-11-22T00:00:00.000Z' "$scratch/server.err")" = 0 ]
}

case_terminals_see_no_raw_names() {
    start_server "$scratch/raw"
    esc=$(printf 'a\033[31m\302\233b')
    echo text | "$ASHLAR" -s "$scratch/raw" put -q --id '"i\u001b"' - "$esc"
    by_driver 'client["d\u001b[31m\u009b"]["c.chunks"].insert_one({"n": 1})'
    for words in 'df' 'sweep' 'stat .' 'ls -l' 'locks' 'check'; do
        [ "$words" != 'stat .' ] || words="stat $esc"
        "$ASHLAR" -s "$scratch/raw" $words >"$scratch/out"
        is_tame "$scratch/out"
    done
    for words in 'get' 'rm' 'mv' 'put'; do
        set -- "$esc"
        [ "$words" != 'mv' ] || set -- "$esc" "${esc}2"
        [ "$words" != 'put' ] || set -- "$0" "$esc"
        "$ASHLAR" -s "$scratch/raw" -n $words "$@" >"$scratch/out"
        is_tame "$scratch/out"
        grep -q would "$scratch/out"
    done
    "$ASHLAR" -s "$scratch/raw" -n get 'id:"i\u001b"' >"$scratch/out"
    is_tame "$scratch/out"
    "$ASHLAR" copy -n "$scratch/raw" "$scratch/raw2" >"$scratch/out"
    is_tame "$scratch/out"
    expect_status 2 "$ASHLAR" gridfs "$esc"
    sed -i "s/\t//" "$scratch/err"
    is_tame "$scratch/err"
    stop_server
}

run_cases
