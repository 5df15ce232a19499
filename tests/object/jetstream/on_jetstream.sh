#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a test program with $ASH_OBJECT_STORE on a NATS server of its own.  usage: on_jetstream.sh NATS_SERVERS PROGRAM [ARGUMENT]…
folder=$(mktemp -d "${TMPDIR:-/tmp}/ashlar-test.XXXXXX")
trap 'rm -rf "$folder"' EXIT
mkfifo "$folder/stop"
"$1" 1 <"$folder/stop" >"$folder/address" &
servers=$!
exec 9>"$folder/stop"
tries=0
while ! grep -qs . "$folder/address"; do
    if ! kill -0 $servers 2>/dev/null; then
        echo "1..0 # SKIP there is no nats-server (Debian: nats-server)"
        exit 0
    fi
    tries=$((tries + 1))
    [ $tries -lt 1200 ] || exit 1
    sleep 0.05
done
ASH_OBJECT_STORE=$(cat "$folder/address")
export ASH_OBJECT_STORE
shift
"$@" 9>&-
status=$?
exec 9>&-
wait $servers
exit $status
