# SPDX-License-Identifier: Apache-2.0
# For crud.sh and crud_others.sh: a server that can be restarted, and what is asked of every driver.  Needs $here and lib.sh.
python=/usr/bin/python3
[ -x $python ] || python=python3

. "$here/restart.sh"
start_for_restarts

client() { # NAME ACTION [FILE]
    case "$1" in
    pymongo) $python "$here/pymongo_crud.py" "$uri" "$2" "${3:--}" ;;
    node) run_node "$here/node_crud.js" "$uri" "$2" "${3:--}" ;;
    libmongoc) "${LIBMONGOC_CRUD:?}" "$uri" "$2" "${3:--}" ;;
    go) "$go_v1" "$uri" crud "$2" "${3:--}" ;;
    esac
}

# streams_resume DRIVER…: from a token of before, after a server that ended and one that was killed.
streams_resume() {
    for signal in TERM KILL; do
        for driver; do
            client "$driver" mark "$scratch/token.$driver"
        done
        restart_server $signal
        for driver; do
            client "$driver" resume "$scratch/token.$driver"
        done
    done
}

# streams_miss_nothing DRIVER…: while they are open, and the server is restarted beneath them.
streams_miss_nothing() {
    followers=
    for driver; do
        client "$driver" follow "$scratch/follows.$driver" &
        followers="$followers $!"
    done
    for driver; do
        tries=0
        while [ ! -f "$scratch/follows.$driver" ]; do
            tries=$((tries + 1))
            [ $tries -lt 600 ]
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
