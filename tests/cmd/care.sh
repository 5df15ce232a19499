#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What keeps a store in order: sweeping, expiry, uploads that go on after an end.
. "$(dirname "$0")/../lib.sh"
export XDG_STATE_HOME="$scratch/state"
large() { # FILE
    head -c 100000 /dev/urandom >"$1"
    truncate -s 300M "$1"
}

# interrupt SIGNAL STORE ARGS…: an upload that is ended when it has begun to store chunks.
interrupt() {
    signal=$1 into=$2
    shift 2
    "$ASHLAR" -s "$into" put "$@" 2>"$scratch/told" &
    upload=$!
    tries=0
    while [ "$(du -sk "$into/segments" 2>/dev/null | cut -f1)0" -lt 100000 ]; do
        tries=$((tries + 1))
        [ $tries -lt 1000 ] || return 1
        sleep 0.01
    done
    kill -"$signal" $upload
    ended=0
    wait $upload || ended=$?
    [ $ended != 0 ]
}

case_put_resume_goes_on() {
    large "$scratch/in"
    "$ASHLAR" -s "$scratch/resume" init
    interrupt INT "$scratch/resume" --resume "$scratch/in" file
    [ $ended = 130 ]
    [ "$(ls "$scratch/state/ashlar/uploads" | wc -l)" = 1 ]
    grep -q ' of .*/in are kept in the store for 24 hours: the same command goes on from there$' "$scratch/told"
    "$ASHLAR" -s "$scratch/resume" ls | fails grep -q .
    "$ASHLAR" -s "$scratch/resume" put --resume "$scratch/in" file >"$scratch/words"
    position=$(sed -n 's/^resuming at byte \([0-9]*\)$/\1/p' "$scratch/words")
    [ "$position" -gt 0 ]
    [ "$("$ASHLAR" -s "$scratch/resume" sum file | cut -c1-64)" = "$(sha256sum <"$scratch/in" | cut -c1-64)" ]
    "$ASHLAR" -s "$scratch/resume" cat file | cmp - "$scratch/in"
    [ "$(ls "$scratch/state/ashlar/uploads" | wc -l)" = 0 ]
    # Nothing is left to go on with: this is a new revision.
    "$ASHLAR" -s "$scratch/resume" put --resume "$scratch/in" file | grep -q 'going on' && return 1
    "$ASHLAR" -s "$scratch/resume" check
}

case_put_resume_after_a_change_is_another_upload() {
    large "$scratch/in"
    "$ASHLAR" -s "$scratch/changed" init
    interrupt KILL "$scratch/changed" --resume "$scratch/in" file
    touch "$scratch/in"
    "$ASHLAR" -s "$scratch/changed" put --resume "$scratch/in" file >"$scratch/words"
    fails grep -q 'going on' "$scratch/words"
    "$ASHLAR" -s "$scratch/changed" cat file | cmp - "$scratch/in"
}

# kill_at BYTES FILE COMMAND…: ends the command without a word when it has read that much of the file.
kill_at() {
    limit=$1 input=$2
    shift 2
    "$@" &
    killed=$!
    at=0
    while [ "$at" -lt "$limit" ] && kill -0 $killed; do
        for link in /proc/$killed/fd/*; do
            [ "$(readlink "$link")" != "$input" ] ||
                at=$(sed -n 's/^pos:[^0-9]*//p' "/proc/$killed/fdinfo/${link##*/}")
        done 2>/dev/null
        : "${at:=0}"
    done
    kill -KILL $killed
    ended=0
    wait $killed || ended=$?
    [ $ended = 137 ]
}

# 200 MiB, killed in the middle, by folder and by address: most of what was read before is not read again.
resume_after_a_kill() { # STORE
    kill_at 104857600 "$scratch/in" "$ASHLAR" -s "$1" -q put --resume "$scratch/in" killed
    expect_status 4 "$ASHLAR" -s "$1" stat killed
    "$ASHLAR" -s "$1" put --resume "$scratch/in" killed >"$scratch/words"
    position=$(sed -n 's/^resuming at byte \([0-9]*\)$/\1/p' "$scratch/words")
    [ "$position" -ge 33554432 ]
    "$ASHLAR" -s "$1" cat killed | cmp - "$scratch/in"
    "$ASHLAR" -s "$1" ls -l | grep -c killed | grep -qx 1
    "$ASHLAR" -s "$1" --json sweep -n --min-age 1 | grep -q '"chunks" : 0'
}

case_put_resume_after_kill() {
    scratch=$(cd "$scratch" && pwd -P)
    head -c 209715200 /dev/urandom >"$scratch/in"
    "$ASHLAR" -s "$scratch/killed" init
    resume_after_a_kill "$scratch/killed"
    start_server "$scratch/killed-served"
    resume_after_a_kill "$scratch/killed-served"
    "$ASHLAR" -s "$scratch/killed-served" rm killed
    resume_after_a_kill "mongodb://$server_address/"
    stop_server
    "$ASHLAR" -s "$scratch/killed-served" check
}

# The same line twice at once: one of them says so and leaves the other alone, whatever the moment.
case_put_resume_twice_at_once() {
    export XDG_STATE_HOME="$scratch/state1"
    head -c 150000000 /dev/urandom >"$scratch/in"
    start_server "$scratch/twice"
    for delay in 0.05 0.1 0.2 0.3 0.5; do
        "$ASHLAR" -s "$scratch/twice" -q put --resume --name "q$delay" "$scratch/in" &
        first=$!
        sleep $delay
        second=0
        "$ASHLAR" -s "$scratch/twice" -q put --resume --name "q$delay" "$scratch/in" 2>"$scratch/err" || second=$?
        wait $first
        case $second in
        0) ;; # it came when the first was done
        6) grep -q 'another put --resume of the same file and name is running' "$scratch/err" ;;
        *) return 1 ;;
        esac
        "$ASHLAR" -s "$scratch/twice" cat "q$delay" | cmp - "$scratch/in"
        "$ASHLAR" -s "$scratch/twice" rm "q$delay"
    done
    [ "$(ls "$XDG_STATE_HOME/ashlar/uploads" | wc -l)" = 0 ]
    # Two who do not share a lock, as on two machines: the token was copied.
    for delay in 0.05 0.1 0.2 0.3 0.5; do
        "$ASHLAR" -s "$scratch/twice" -q put --resume --name "r$delay" "$scratch/in" 2>/dev/null &
        first=$!
        sleep $delay
        rm -rf "$scratch/state2"
        cp -R "$XDG_STATE_HOME" "$scratch/state2"
        XDG_STATE_HOME="$scratch/state2" "$ASHLAR" -s "$scratch/twice" -q put --resume --name "r$delay" "$scratch/in" 2>"$scratch/err" || true
        wait $first || true
        # Whatever came of the race, nothing is there in pieces, and the same line mends the rest.
        "$ASHLAR" -s "$scratch/twice" stat "r$delay" >/dev/null 2>&1 ||
            "$ASHLAR" -s "$scratch/twice" -q put --resume --name "r$delay" "$scratch/in"
        "$ASHLAR" -s "$scratch/twice" cat "r$delay" | cmp - "$scratch/in"
        "$ASHLAR" -s "$scratch/twice" rm "r$delay"
    done
    stop_server
    "$ASHLAR" -s "$scratch/twice" check
}

case_unfinished_uploads_are_listed_and_deleted() {
    store=$scratch/unfinished
    scratch=$(cd "$scratch" && pwd -P)
    truncate -s 300M "$scratch/in"
    "$ASHLAR" -s "$store" init
    for name in one two; do
        kill_at 104857600 "$scratch/in" "$ASHLAR" -s "$store" -q put --resume "$scratch/in" $name
    done
    echo kept | "$ASHLAR" -s "$store" put - kept
    "$ASHLAR" -s "$store" sweep -n >"$scratch/words"
    [ "$(grep -c '^test\.fs: unfinished upload of \(one\|two\): [0-9.]* [MK]iB, last written 2.*, kept until 2' "$scratch/words")" = 2 ]
    "$ASHLAR" -s "$store" sweep --uploads 1h | grep -c '^test.fs: unfinished' | grep -qx 2
    "$ASHLAR" -s "$store" sweep -n --uploads 0 >"$scratch/words"
    [ "$(grep -c 'would delete unfinished upload of .*, last written [^ ]*$' "$scratch/words")" = 2 ]
    "$ASHLAR" -s "$store" put --resume "$scratch/in" one | grep -q 'resuming at byte'
    "$ASHLAR" -s "$store" --json sweep --uploads 0 >"$scratch/json"
    grep -q '"expired" : 0, .*"uploads" : \[ { "name" : "two", "bytes" : [1-9].*"deleted" : true' "$scratch/json"
    [ "$("$ASHLAR" -s "$store" sweep)" = 'test.fs: 0 expired, 0 orphaned chunks of 0 files (0 B) deleted' ]
    "$ASHLAR" -s "$store" --json sweep -n --min-age 1 | grep -q '"chunks" : 0'
    "$ASHLAR" -s "$store" put --resume "$scratch/in" two >"$scratch/words"
    grep -q 'has expired or was deleted: starting anew' "$scratch/words"
    "$ASHLAR" -s "$store" cat two | cmp - "$scratch/in"
    touch "$scratch/in"
    "$ASHLAR" -s "$store" put --resume "$scratch/in" two | grep -q 'no earlier upload of .*in as it is now: starting at byte 0'
    "$ASHLAR" -s "$store" check
    expect_status 2 "$ASHLAR" -s "$store" sweep --uploads soon
}

case_sweep_frees_what_died() {
    echo kept | "$ASHLAR" -s "$scratch/swept" put - kept
    echo other | "$ASHLAR" -s "$scratch/swept" -d elsewhere -b mine put - kept
    # Killed when what it was given so far is committed, for certain.
    (
        head -c 5000000 /dev/urandom
        sleep 2
    ) | "$ASHLAR" -s "$scratch/swept" put - file &
    upload=$!
    sleep 1
    kill -KILL $upload
    wait $upload || true
    "$ASHLAR" -s "$scratch/swept" --json sweep >"$scratch/json" # too young
    [ "$(grep -c '"chunks" : 0' "$scratch/json")" = 2 ]
    sleep 2
    "$ASHLAR" -s "$scratch/swept" --json sweep -n --min-age 1 >"$scratch/json"
    grep '"bucket" : "fs"' "$scratch/json" | grep -q '"files" : 1'
    "$ASHLAR" -s "$scratch/swept" --json sweep -n --min-age 1 | cmp - "$scratch/json"
    "$ASHLAR" -s "$scratch/swept" sweep --min-age 1 | grep -q '^test\.fs: 0 expired, [1-9][0-9]* orphaned chunks\{0,1\} of 1 file '
    "$ASHLAR" -s "$scratch/swept" --json sweep -n --min-age 1 >"$scratch/json"
    [ "$(grep -c '"chunks" : 0' "$scratch/json")" = 2 ]
    [ "$("$ASHLAR" -s "$scratch/swept" cat kept)" = kept ]
    [ "$("$ASHLAR" -s "$scratch/swept" -d elsewhere -b mine cat kept)" = other ]
    "$ASHLAR" -s "$scratch/swept" check
    expect_status 4 "$ASHLAR" -s "$scratch/swept" -b nobody sweep
    expect_status 2 "$ASHLAR" -s "$scratch/swept" sweep --min-age x
    "$ASHLAR" -s "$scratch/swept" sweep --min-age 1.5d
}

case_sweep_deletes_expired_files() {
    echo gone | "$ASHLAR" -s "$scratch/expired" put --ttl 1 - gone
    echo kept | "$ASHLAR" -s "$scratch/expired" put --ttl 3600 - kept
    sleep 1.2
    "$ASHLAR" -s "$scratch/expired" sweep -n | grep -q 'would delete 1 expired'
    expect_status 4 "$ASHLAR" -s "$scratch/expired" stat gone
    "$ASHLAR" -s "$scratch/expired" sweep | grep -q ': 1 expired'
    expect_status 4 "$ASHLAR" -s "$scratch/expired" stat gone
    [ "$("$ASHLAR" -s "$scratch/expired" cat kept)" = kept ]
}

case_a_dry_sweep_tells_of_what_is_young() {
    python=/usr/bin/python3
    [ -x $python ] || python=python3
    $python -c 'import pymongo' 2>/dev/null || skip "no pymongo"
    start_server "$scratch/young"
    $python - "mongodb://$server_address/" <<'END'
import bson, pymongo, sys
chunks = pymongo.MongoClient(sys.argv[1]).test.fs.chunks
chunks.insert_one({"files_id": bson.ObjectId(), "n": 0, "data": b"x" * 2048})
END
    "$ASHLAR" -s "$scratch/young" sweep -n >"$scratch/out"
    grep -q 'would delete 0 expired, 0 orphaned' "$scratch/out"
    grep -q 'would leave 1 chunk of no file (2.0 KiB), too young' "$scratch/out"
}

case_times_have_units() {
    for ttl in 7200 7200s 120m 2h; do
        before=$(date +%s)
        echo x | "$ASHLAR" -s "$scratch/timed" put --ttl $ttl - timed
        expires=$("$ASHLAR" -s "$scratch/timed" stat timed | sed -n 's/^Expires: *//p')
        late=$(($(date -d "$expires" +%s) - before - 7200))
        [ $late -ge 0 ] && [ $late -lt 60 ]
    done
    for ttl in 0 -1 1.5 1w '1 h' h 1hm 99999999999999999999d '' nan inf; do
        expect_status 2 "$ASHLAR" -s "$scratch/timed" put --ttl "$ttl" - timed
        grep -q -- '--ttl takes' "$scratch/err"
    done
    expect_status 2 "$ASHLAR" -s "$scratch/timed" lock --wait soon x -- true
    expect_status 0 "$ASHLAR" -s "$scratch/timed" lock --wait 0.1s --lease 1m --grace 0 x -- true
    expect_status 2 "$ASHLAR" -s "$scratch/timed" serve --sum-every 0.5
}

case_server_deletes_expired_files() {
    start_server "$scratch/serving" --expire-every 1
    echo gone | "$ASHLAR" -s "$scratch/serving" put --ttl 1 - gone
    echo gone | "$ASHLAR" -s "$scratch/serving" -d other -b bucket put --ttl 1 - gone
    echo kept | "$ASHLAR" -s "$scratch/serving" put - kept
    tries=0
    while "$ASHLAR" -s "$scratch/serving" stat gone >/dev/null 2>&1 ||
        "$ASHLAR" -s "$scratch/serving" -d other -b bucket stat gone >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || return 1
        sleep 0.1
    done
    [ "$("$ASHLAR" -s "$scratch/serving" cat kept)" = kept ]
    stop_server
}

# A driver's way: documents into two collections, and nobody tells of a digest.
upload_by_driver() { # NAME
    python=/usr/bin/python3
    [ -x $python ] || python=python3
    $python -c 'import gridfs, pymongo, sys
with pymongo.MongoClient(sys.argv[1]) as client:
    gridfs.GridFSBucket(client["test"]).upload_from_stream(sys.argv[2], b"driven " * 100000)' \
        "mongodb://$server_address/" "$1"
}

case_server_computes_digests_of_drivers_files() {
    start_server "$scratch/driven" --sum-every 1
    upload_by_driver first
    expected=$(yes 'driven ' | tr -d '\n' | head -c 700000 | sha256sum | cut -c1-64)
    for file in first second; do
        [ $file = first ] || upload_by_driver $file
        tries=0
        while ! "$ASHLAR" -s "$scratch/driven" stat $file | grep -q "$expected"; do
            tries=$((tries + 1))
            [ $tries -lt 100 ] || return 1
            sleep 0.1
        done
    done
    stop_server
}

case_server_leaves_files_alone_without_background() {
    start_server "$scratch/alone" --no-background --sum-every 1 --expire-every 1
    upload_by_driver file
    "$ASHLAR" -s "$scratch/alone" sum -n file | grep -q "^$(yes 'driven ' | tr -d '\n' | head -c 700000 | sha256sum | cut -c1-64)"
    echo stays | "$ASHLAR" -s "$scratch/alone" put --ttl 1 - stays
    sleep 2.5
    "$ASHLAR" -s "$scratch/alone" stat file | fails grep -qi 'sha.*[0-9a-f]\{64\}'
    # Expired, so that nobody sees it, and still there.
    "$ASHLAR" -s "$scratch/alone" sweep -n | grep -q ' 1 expired'
    stop_server
}

taken() { # FOLDER: KiB on the disk
    du -sk "$1" | cut -f1
}

case_deleted_files_give_their_space_back() {
    store=$scratch/shrunk
    head -c 104857600 /dev/urandom >"$scratch/in"
    echo kept | "$ASHLAR" -s "$store" put - kept
    "$ASHLAR" -s "$store" -q put "$scratch/in" large
    [ "$(taken "$store")" -gt 102400 ]
    "$ASHLAR" -s "$store" -q rm large
    [ "$(taken "$store")" -lt 20480 ]
    "$ASHLAR" -s "$store" check
    # What was deleted is given back as the last command closes the store, and is used again.
    head -c 52428800 "$scratch/in" | "$ASHLAR" -s "$store" put - half
    "$ASHLAR" -s "$store" -q rm half
    [ "$(taken "$store")" -lt 20480 ]
    "$ASHLAR" -s "$store" -q put "$scratch/in" large
    "$ASHLAR" -s "$store" cat large | cmp - "$scratch/in"
    [ "$("$ASHLAR" -s "$store" cat kept)" = kept ]
    "$ASHLAR" -s "$store" check
    start_server "$store"
    "$ASHLAR" -s "$store" -q rm large
    stop_server
    [ "$(taken "$store")" -lt 20480 ]
    [ "$("$ASHLAR" -s "$store" cat kept)" = kept ]
    "$ASHLAR" -s "$store" check
}

run_cases
