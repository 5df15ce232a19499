#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill -9 of the server during uploads from four clients, again and again: what was acknowledged is whole, nothing else is visible.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
python=/usr/bin/python3
[ -x $python ] || python=python3
store=$scratch/store
rounds=${ASH_KILL_ROUNDS:-4}

case_acknowledged_files_survive_kills() {
    start_server "$store"
    address=$server_address
    uploaders=
    for client in 1 2 3 4; do
        $python "$here/kill_uploader.py" "mongodb://$address/?retryWrites=true" "client$client" "$scratch/log$client" \
            $((rounds * 3)) 2>"$scratch/uploader$client.err" &
        uploaders="$uploaders $!"
    done
    round=0
    while [ $round -lt $rounds ]; do
        round=$((round + 1))
        sleep "1.$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')"
        kill -9 "$server_pid"
        wait "$server_pid" 2>/dev/null || true
        # The clients go on by themselves: same address, same store.
        "$ASHLAR" -s "$store" serve --mongo "$address" >"$scratch/server.out" 2>"$scratch/server.err" &
        server_pid=$!
        echo "$server_pid" >>"$scratch/pids"
    done
    wait $uploaders
    $python "$here/kill_uploader.py" "mongodb://$address/" verify "$scratch"/log[1-4]
    [ "$(cat "$scratch"/log[1-4] | wc -l)" -gt 0 ]
    stop_server
    "$ASHLAR" -s "$store" check
}

run_cases
