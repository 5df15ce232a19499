#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A store in a folder that gocryptfs encrypts, as SECURITY.md tells people to have it.  Needs /dev/fuse.
# usage: ASHLAR=… encrypted.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
command -v gocryptfs >/dev/null || skip_all 'no gocryptfs'
[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
cipher=$scratch/cipher
plain=$scratch/plain
mkdir "$cipher" "$plain"
echo 'a long password' >"$scratch/password"
open_folder() {
    gocryptfs -q -nosyslog -passfile "$scratch/password" "$cipher" "$plain" >"$scratch/mount" 2>&1
}
# The daemon may hold it a moment longer.
close_folder() {
    tries=0
    until fusermount -u "$plain" 2>"$scratch/umount"; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || return 1
        sleep 0.1
    done
}
trap 'close_folder; cleanup' EXIT
gocryptfs -init -q -nosyslog -passfile "$scratch/password" "$cipher" >"$scratch/init" 2>&1
open_folder || skip_all "gocryptfs cannot mount here: $(head -n 1 "$scratch/mount")"

# Names, contents and keys of indexes: in a plain folder the same look finds them.
case_nothing_can_be_read() {
    for folder in "$plain/store" "$scratch/open"; do
        echo 'words that nobody else may read' >"$scratch/words"
        "$ASHLAR" -s "$folder" tree put "$scratch/words" /a-name-that-tells
        "$ASHLAR" -s "$folder" put "$scratch/words" --name another-name-that-tells
    done
    grep -rqE 'a-name-that-tells' "$scratch/open"
    grep -rq 'words that nobody else may read' "$scratch/open"
    sync
    fails grep -rqE 'name-that-tells|words that nobody else' "$cipher"
}

case_a_kill_costs_nothing_told() {
    head -c 3000000 /dev/urandom >"$scratch/large"
    for i in 1 2 3 4 5; do
        "$ASHLAR" -s "$plain/store" tree put "$scratch/large" "/large-$i"
        (i=0; while :; do i=$((i + 1)); "$ASHLAR" -s "$plain/store" tree put "$scratch/large" "/killed-$i"; done) >"$scratch/out" 2>&1 &
        loop=$!
        sleep 0.2
        kill -9 $loop
        pkill -9 -f "$plain/store tree put" || true
        wait $loop || true
    done
    "$ASHLAR" -s "$plain/store" check
    for i in 1 2 3 4 5; do
        "$ASHLAR" -s "$plain/store" tree get "/large-$i" - | cmp - "$scratch/large"
    done
}

case_closed_and_opened() {
    before=$("$ASHLAR" -s "$plain/store" tree ls / | sort)
    close_folder
    fails "$ASHLAR" -s "$plain/store" tree ls /
    open_folder
    [ "$("$ASHLAR" -s "$plain/store" tree ls / | sort)" = "$before" ]
    "$ASHLAR" -s "$plain/store" check
}

# Memory that a server maps of it is what others wrote through the server.
case_a_server() {
    start_server "$plain/store"
    "$ASHLAR" -s "mongodb://$server_address/" tree put "$scratch/large" /served
    "$ASHLAR" -s "$plain/store" tree get /served - | cmp - "$scratch/large"
    stop_server
    "$ASHLAR" -s "$plain/store" tree get /served - | cmp - "$scratch/large"
}

run_cases
