#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A file whose time is over is not there for anybody, in a folder that nobody serves and on a deployment alike.
. "$(dirname "$0")/../lib.sh"
a() {
    "$ASHLAR" -s "$store" "$@"
}

# Until the clock has passed the second that a file put now with --ttl 1 ends in.
let_it_pass() {
    until [ "$(date +%s)" -gt $(($1 + 2)) ]; do sleep 0.1; done
}

nobody_finds_it() {
    began=$(date +%s)
    echo old | a -q put - both
    echo short | a -q put --ttl 1 - both
    echo gone | a -q put --ttl 1 --id 7 - folder/gone
    echo kept | a -q put --ttl 3600 - folder/kept
    let_it_pass "$began"
    [ "$(a ls | tr '\n' ' ')" = "both folder/kept " ]
    [ "$(a ls -a both | wc -l)" = 1 ]
    [ "$(a cat both)" = old ]
    expect_status 4 a find '{"filename": "folder/gone"}'
    expect_status 4 a find '{"expiresAt": {"$exists": true}, "filename": "folder/gone"}'
    a find '{"expiresAt": {"$exists": true}}' | grep -q kept
    for words in "cat folder/gone" "cat id:7" "stat folder/gone" "stat id:7" "get folder/gone $scratch/got" \
        "get -r folder/gone $scratch/got" "sum id:7" "mv folder/gone other" "mv id:7 other"; do
        expect_status 4 a $words
    done
    a -q get -r . "$scratch/back-$1"
    [ "$(cd "$scratch/back-$1" && find . -type f | sort | tr '\n' ' ')" = "./both ./folder/kept " ]
    a --json stat folder/kept | grep -q '"expires" : { "$date"'
    a -q copy "$store" "$scratch/copied-$1"
    [ "$("$ASHLAR" -s "$scratch/copied-$1" ls | tr '\n' ' ')" = "both folder/kept " ]
    # Its name is free again.
    echo new | a -q put --if-absent - folder/gone
    [ "$(a cat folder/gone)" = new ]
    a -q rm folder/gone
    expect_status 4 a rm id:7
}

case_in_a_folder() {
    store=$scratch/folder
    nobody_finds_it folder
}

case_through_a_server() {
    start_server "$scratch/served" --no-background
    store=$scratch/served
    nobody_finds_it served
}

case_on_a_deployment() {
    start_server "$scratch/deployment" --standalone --no-socket --no-background
    store="mongodb://$server_address/"
    nobody_finds_it deployment
}

# What drivers see through a server is deleted when its time has come, without a long wait.
case_a_server_deletes_it() {
    start_server "$scratch/deletes"
    store=$scratch/deletes
    echo gone | a -q put --ttl 1 - gone
    tries=0
    while a stat gone >/dev/null 2>&1 || a sweep -n | grep -q 'would delete 1 expired'; do
        tries=$((tries + 1))
        [ $tries -lt 300 ]
        sleep 0.1
    done
}

run_cases
