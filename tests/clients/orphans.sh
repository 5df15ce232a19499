#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A hundred uploads die; sweeping beside eight running ones takes what the dead left, and nothing else.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
python=/usr/bin/python3
[ -x $python ] || python=python3
store=$scratch/store

orphans() { # STORE: files without a name, as a dry run counts them
    "$ASHLAR" -s "$1" --json sweep -n --min-age 2 | sed -n 's/.*"bucket" : "fs".*"files" : \([0-9]*\).*/\1/p'
}

# sweep_beside_uploads STORE: again and again, as long as the uploads take.  What the dead left is older than ten seconds by then; a
# machine that stops an upload for so long between two chunks would make the sweep right and the test wrong.
sweep_beside_uploads() {
    $python "$here/orphans.py" upload "$uri" "$1" "$ASHLAR" 5 &
    uploads=$!
    sweeps=0
    while kill -0 $uploads 2>/dev/null; do
        "$ASHLAR" -s "$1" -q sweep --min-age 10
        sweeps=$((sweeps + 1))
        sleep 0.2
    done
    wait $uploads
    [ $sweeps -gt 5 ]
}

case_through_a_server() {
    start_server "$store"
    uri="mongodb://$server_address/"
    $python "$here/orphans.py" crash "$uri" "$uri" "$ASHLAR" 60
    $python "$here/orphans.py" crash "$uri" "$store" "$ASHLAR" 40
    sleep 12
    [ "$(orphans "$store")" -gt 20 ]
    sweep_beside_uploads "$store"
    [ "$(orphans "$store")" = 0 ]
    $python "$here/orphans.py" verify "$uri"
    stop_server
    "$ASHLAR" -s "$store" check
}

# The process that dies is the one that holds the store.
case_holders_of_the_folder() {
    "$ASHLAR" -s "$store.2" -q init
    died=0
    while [ $died -lt 20 ]; do
        head -c 40000000 /dev/urandom 2>/dev/null | "$ASHLAR" -s "$store.2" -q put - "crash $died" &
        victim=$!
        sleep "0.$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')"
        kill -KILL $victim 2>/dev/null && died=$((died + 1))
        wait $victim 2>/dev/null || true
        "$ASHLAR" -s "$store.2" rm "crash $died" 2>/dev/null || true
    done
    sleep 12
    "$ASHLAR" -s "$store.2" check
    start_server "$store.2"
    uri="mongodb://$server_address/"
    "$ASHLAR" -s "$store.2" find '{}' --json | while read -r line; do
        "$ASHLAR" -s "$store.2" rm "$(echo "$line" | sed 's/.*"name" : "\([^"]*\)".*/\1/')"
    done
    sweep_beside_uploads "$uri"
    [ "$(orphans "$store.2")" = 0 ]
    $python "$here/orphans.py" verify "$uri"
    stop_server
    "$ASHLAR" -s "$store.2" check
}

run_cases
