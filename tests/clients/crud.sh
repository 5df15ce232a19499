#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unmodified drivers do what programs do every day: writes and reads, bulk writes, indexes, sessions, retried writes, change streams
# (also across a restart of the server), and every type of BSON byte for byte.
# usage: ASHLAR=… LIBMONGOC_CRUD=… crud.sh   (npm packages go to $ASH_NODE_FOLDER, Go's objects to $ASH_GO_FOLDER)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/node.sh"
python=/usr/bin/python3
[ -x $python ] || python=python3
go_folder=${ASH_GO_FOLDER:-$scratch/go}

start_server "$scratch/store" --test-commands || exit 1
address=$server_address
uri="mongodb://$address/"

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

client() { # NAME ACTION [FILE]
    case "$1" in
    pymongo) $python "$here/pymongo_crud.py" "$uri" "$2" "${3:--}" ;;
    node) run_node "$here/node_crud.js" "$uri" "$2" "${3:--}" ;;
    libmongoc) "${LIBMONGOC_CRUD:?}" "$uri" "$2" "${3:--}" ;;
    go) "$go_folder/go_crud" "$uri" "$2" "${3:--}" ;;
    esac
}

# Debian's packages put Go's sources where a GOPATH wants them.
build_go() {
    command -v go >/dev/null || return 1
    [ -d /usr/share/gocode/src/go.mongodb.org/mongo-driver ] || return 1
    mkdir -p "$go_folder"
    GO111MODULE=off GOFLAGS='' GOPATH=/usr/share/gocode GOCACHE="$go_folder/cache" go build -o "$go_folder/go_crud" "$here/go_crud.go"
}

case_pymongo_works_every_day() {
    client pymongo all
}

case_node_works_every_day() {
    client node all
}

case_libmongoc_works_every_day() {
    client libmongoc all
}

case_go_works_every_day() {
    build_go || skip "golang-go and golang-mongodb-mongo-driver-dev are not installed"
    client go all
}

case_every_type_comes_back_byte_for_byte() {
    client pymongo bytes >&2
}

case_streams_resume_after_restarts() {
    drivers="pymongo node libmongoc"
    [ ! -x "$go_folder/go_crud" ] || drivers="$drivers go"
    for signal in TERM KILL; do
        for driver in $drivers; do
            client $driver mark "$scratch/token.$driver"
        done
        restart_server $signal
        for driver in $drivers; do
            client $driver resume "$scratch/token.$driver"
        done
    done
}

case_open_streams_miss_nothing_over_restarts() {
    followers=
    for driver in pymongo node; do
        client $driver follow "$scratch/follows.$driver" &
        followers="$followers $!"
    done
    for driver in pymongo node; do
        tries=0
        while [ ! -f "$scratch/follows.$driver" ]; do
            tries=$((tries + 1))
            [ $tries -lt 300 ]
            sleep 0.1
        done
    done
    client pymongo write 0-8
    restart_server KILL
    client pymongo write 8-15
    restart_server TERM
    client pymongo write 15-20
    for follower in $followers; do
        wait "$follower"
    done
}

case_the_store_is_clean_afterwards() {
    end_server TERM
    "$ASHLAR" -s "$scratch/store" check
}

run_cases
