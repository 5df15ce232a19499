# SPDX-License-Identifier: Apache-2.0
# A server that can be ended and comes back at the same address.  Needs lib.sh; sets $address and $uri.
start_for_restarts() {
    start_server "$scratch/store" --test-commands || exit 1
    address=$server_address
    uri="mongodb://$address/"
}

# Cases run in subshells, so which server runs is known from lib.sh's file.
end_server() { # SIGNAL
    last=$(tail -n 1 "$scratch/pids")
    kill "-$1" "$last"
    while kill -0 "$last" 2>/dev/null; do sleep 0.05; done
}

restart_server() { # SIGNAL
    end_server "$1"
    "$ASHLAR" -s "$scratch/store" serve --mongo "$address" --test-commands >"$scratch/server.out" 2>"$scratch/server.err" &
    echo $! >>"$scratch/pids"
}
