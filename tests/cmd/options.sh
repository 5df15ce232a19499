#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Options that every verb has.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
a() {
    "$ASHLAR" -s "$store" "$@"
}

case_dry_run_of_init() {
    a init -n | grep -q "^would make a store at $store\$"
    [ ! -e "$store" ]
    a --json init -n | grep -q '"exists" : false'
    expect_status 4 "$ASHLAR" -s "$scratch/no/store" init -n
    a init
    a init -n | grep -q 'is already a store'
}

case_dry_run_of_lock() {
    a lock -n report -- touch "$scratch/made" >"$scratch/words"
    grep -q "^would run under the lock of report: touch $scratch/made\$" "$scratch/words"
    a lock -n --shared report -- touch "$scratch/made" | grep -q 'under the read lock of report'
    a --json lock -n report -- touch x | grep -q '"command" : \[ "touch", "x" \]'
    [ ! -e "$scratch/made" ]
    a locks | fails grep -q report
}

case_verbs_without_a_dry_run_say_so() {
    a init
    expect_status 2 a backup -n "$scratch/copy"
    grep -q 'backup does not take -n' "$scratch/err"
    [ ! -e "$scratch/copy" ]
    expect_status 2 "$ASHLAR" -s "$scratch/new" serve -n
    [ ! -e "$scratch/new" ]
    expect_status 2 a -n ls
    expect_status 0 a -n ls --help
    # Nor does their help offer it.
    "$ASHLAR" help >"$scratch/all"
    for verb in $(sed -n 's/^  \([a-z]*\)  .*/\1/p' "$scratch/all"); do
        offered=yes refused=no
        "$ASHLAR" help "$verb" | grep -q -e ' -n, --dry-run' || offered=no
        "$ASHLAR" -s "$scratch/nowhere" "$verb" -n x x >"$scratch/out" 2>&1 </dev/null || true
        grep -q "$verb does not take -n" "$scratch/out" && refused=yes
        [ $offered != $refused ]
    done
    grep -q -e '-n, --dry-run' "$scratch/all"
}

# as UID COMMAND…: without what names a store, or a home folder.
as() {
    setpriv --reuid="$1" --regid=65534 --clear-groups \
        env -u HOME -u XDG_DATA_HOME -u XDG_STATE_HOME -u ASHLAR_STORE "$ASHLAR" $2
}

case_without_home_the_store_is_not_in_the_current_folder() {
    as 65534 version >/dev/null 2>&1 || skip "no other account can run the command"
    home=$(getent passwd 65534 | cut -d: -f6)
    chmod 755 "$scratch"
    mkdir -m 777 "$scratch/homeless"
    cd "$scratch/homeless"
    case $home in
    /*) as 65534 'init -n' | grep -qx "would make a store at $home/.local/share/ashlar" ;;
    esac
    # An account that nobody made has no home at all.
    nobody=54321
    while getent passwd $nobody; do nobody=$((nobody + 1)); done
    head -c 3000000 /dev/urandom >"$scratch/kept"
    chmod 644 "$scratch/kept"
    for words in ls init "init -n" "put $scratch/kept" "check --repair" serve "locks ls" "sweep" \
        "put -r $scratch/homeless" "gridfs list"; do
        expect_status 2 as $nobody "$words"
        grep -q 'no store is named.*-s STORE.*ASHLAR_STORE' "$scratch/err"
    done
    expect_status 2 as $nobody "-s store put --resume $scratch/kept"
    grep -q 'set XDG_STATE_HOME or HOME' "$scratch/err"
    expect_status 0 as $nobody "-s store put $scratch/kept"
    [ "$(ls -A)" = store ]
}

case_empty_values_are_not_the_default() {
    export XDG_DATA_HOME="$scratch/data"
    mkdir "$XDG_DATA_HOME"
    echo kept | "$ASHLAR" put - kept
    for option in -s --store -d --db -b --bucket; do
        expect_status 2 "$ASHLAR" $option "" rm -r .
        grep -q 'cannot be empty' "$scratch/err"
    done
    expect_status 2 "$ASHLAR" --store= ls
    expect_status 2 "$ASHLAR" gridfs -d "" list
    expect_status 2 "$ASHLAR" copy "" "$scratch/other"
    expect_status 2 "$ASHLAR" copy "$XDG_DATA_HOME/ashlar" ""
    [ "$("$ASHLAR" cat kept)" = kept ]
}

case_mistyped_words() {
    while IFS=: read -r typed meant; do
        expect_status 2 a $typed x
        grep -q "did you mean $meant[ ?]" "$scratch/err"
    done <<'END'
ptu:put
lss:ls
chekc:check
remove:rm
cp:put, get, or copy
sync:put -r --update
mkdir:put
gc:sweep
completoin:completion
ls --lnog:--long
put --chunksize:--chunk-size
put --if-abs:--if-absent
--jsn:--json
serve --durabilty:--durability
END
    expect_status 2 a help sweeep
    grep -q 'did you mean sweep?' "$scratch/err"
    for typed in frobnicate 'ls --frobnicate' xyz '' 'ls -y'; do
        expect_status 2 a $typed ''
        fails grep -q 'did you mean' "$scratch/err"
    done
    expect_status 2 a ls -y
    grep -q 'ashlar help ls' "$scratch/err"
}

case_a_missing_verb_is_explained() {
    expect_status 2 "$ASHLAR" --store ls
    grep -q '"ls" was taken for the value of --store' "$scratch/err"
    [ ! -s "$scratch/out" ]
    expect_status 2 "$ASHLAR" -q
    grep -q 'there is no verb' "$scratch/err"
}

case_stores_are_named_by_the_option() {
    for verb in init check sweep df serve; do
        expect_status 2 a $verb "$scratch/place"
        grep -qx "ashlar $verb: $verb takes no \"$scratch/place\"; a store is named by -s: ashlar -s STORE $verb" "$scratch/err"
    done
    [ ! -e "$scratch/place" ]
}

case_json_as_the_shell_takes_it() {
    for typed in '{length: {$gt: 1}}' "{'length': 1}" '{"a": b}'; do
        expect_status 2 a find "$typed"
        grep -q 'not a JSON document: .*(names and strings stand in double quotes)$' "$scratch/err"
    done
    expect_status 2 a find '{"a": 1'
    fails grep -q quotes "$scratch/err"
}

# Once, wherever the message has it.
case_names_in_messages() {
    a init
    mkdir -p "$scratch/folder/a"
    cd "$scratch/folder"
    expect_status 4 a cat nosuch
    [ "$(cat "$scratch/err")" = 'ashlar cat: no file named nosuch' ]
    expect_status 4 a put nosuch
    [ "$(cat "$scratch/err")" = 'ashlar put: cannot open nosuch: No such file or directory' ]
    expect_status 2 a stat id:x
    [ "$(grep -o 'id:x' "$scratch/err" | wc -l)" = 1 ]
    expect_status 2 a put a
    [ "$(cat "$scratch/err")" = 'ashlar put: a: is a folder (put -r keeps folders)' ]
}

case_verbose_says_what_is_done() {
    echo text | a -q put - file
    a -v cat file 2>"$scratch/err" | grep -qx text
    grep -q "^ashlar cat: 0\.[0-9]* s: store $store (folder), database test: opened in [0-9]* ms\$" "$scratch/err"
    grep -q ': exit status 0$' "$scratch/err"
    [ "$(wc -l <"$scratch/err")" = 2 ]
    a -vv cat file 2>&1 >/dev/null | grep -q ': file: done$'
    a -v sweep 2>"$scratch/err"
    grep -q "^ashlar sweep: 0.* s: files\$" "$scratch/err"
    a -v get file "$scratch/back" 2>&1 | grep -q ': file: 5 bytes written$'
    a --json -v ls 2>"$scratch/err" >/dev/null
    python3 -c 'import json, sys
assert all("s: " in json.loads(line)["trace"]["message"] for line in open(sys.argv[1]))' "$scratch/err"
    a cat file 2>&1 >/dev/null | grep . && return 1
    start_server "$scratch/served"
    "$ASHLAR" -v -s "$scratch/served" ls 2>&1 | grep -q 'by the process that holds the folder'
    "$ASHLAR" -v -s "mongodb://name:secret@$server_address/x" ls >"$scratch/out" 2>&1 || true
    fails grep -q secret "$scratch/out"
    stop_server
}

case_version() {
    "$ASHLAR" version >"$scratch/version"
    "$ASHLAR" --version | cmp - "$scratch/version"
    "$ASHLAR" -V | cmp - "$scratch/version"
    "$ASHLAR" --json -V | grep -q '"version" : '
    "$ASHLAR" ls --version | cmp - "$scratch/version"
}

# Every line of what is on standard input is a JSON document, and there is one.
json_lines() { # what it has to say
    /usr/bin/env python3 -c 'import json, sys
lines = sys.stdin.buffer.read().decode("utf-8").splitlines()
assert lines
for line in lines:
    json.loads(line)' || return 1
}

case_json_says_what_is_not_utf8() {
    command -v python3 >/dev/null || skip "no python3"
    a -q init
    bad=$(printf 'no\377')
    long=a$(printf 'é%.0s' $(seq 700))
    echo text >"$scratch/small"
    expect_status 2 a --json cat "$bad"
    json_lines <"$scratch/err"
    expect_status 4 a --json put "$bad" --name ok
    json_lines <"$scratch/err"
    expect_status 2 "$ASHLAR" --json "-$bad"
    json_lines <"$scratch/err"
    expect_status 4 a --json cat "$long"
    json_lines <"$scratch/err"
    [ "$(grep -c "$(printf '\357\277\275')" "$scratch/err")" = 0 ] # cut between characters
    expect_status 2 "$ASHLAR" --json "--$long"
    json_lines <"$scratch/err"
    expect_status 2 a --json -b "$long" put "$scratch/small"
    json_lines <"$scratch/err"
}

case_empty_folders_are_refused() {
    a -q init
    mkdir "$scratch/here"
    cd "$scratch/here"
    expect_status 2 a backup ''
    grep -q 'cannot be empty' "$scratch/err"
    expect_status 2 a check --repair --into ''
    grep -q 'cannot be empty' "$scratch/err"
    [ -z "$(ls -A .)" ]
}

case_passwords_are_not_shown() {
    start_server "$scratch/served"
    for uri in "mongodb://some:secret@$server_address/" "mongodb://$server_address/?proxyPassword=secret"; do
        for json in '' --json; do
            "$ASHLAR" $json -s "$uri" -n init >"$scratch/out" 2>&1 || true
            [ "$(grep -c secret "$scratch/out")" = 0 ]
        done
        "$ASHLAR" -v -s "$uri" ls >"$scratch/out" 2>&1 || true
        [ "$(grep -c secret "$scratch/out")" = 0 ]
    done
    stop_server
}

case_dry_runs_make_nothing() {
    echo text >"$scratch/small"
    a put -q --id 7 "$scratch/small" --name there
    mkdir "$scratch/dry"
    cd "$scratch/dry"
    a -n get -r . folder | grep -q '^would get there$'
    expect_status 4 a -n get -r nothing folder
    expect_status 4 a get -r nothing folder
    [ -z "$(ls -A .)" ]
    expect_status 4 a -n put doesnotexist
    expect_status 5 a -n put --if-absent "$scratch/small" there
    expect_status 5 a -n put --id 7 "$scratch/small" new
    a -n put --if-absent "$scratch/small" new | grep -q '^would put .* as new$'
    a -n --json put "$scratch/small" new | grep -q '"name" : "new", "dryRun" : true'
    a -n --json get there | grep -q '"name" : "there".*"dryRun" : true'
    a -n --json get -r . | grep -q '"name" : "there".*"dryRun" : true'
    [ "$(a ls -a)" = there ] && [ -z "$(ls -A .)" ]
    a rm there
}

case_progress_says_what_it_knows() {
    long=a$(printf 'é%.0s' $(seq 200))
    head -c 3000000 /dev/urandom >"$scratch/in"
    a --progress=on put "$scratch/in" "$long" >/dev/null 2>"$scratch/err"
    grep -q 'é' "$scratch/err"
    iconv -f UTF-8 -t UTF-8 "$scratch/err" >/dev/null
    a --progress=on check >/dev/null 2>"$scratch/err"
    [ "$(grep -c 'B/s' "$scratch/err")" = 0 ]
    a --progress=on backup "$scratch/progressed" >/dev/null 2>"$scratch/err"
    grep -q 'B/s' "$scratch/err"
    [ "$(grep -c '[0-9]\{7\}' "$scratch/err")" = 0 ]
    a rm "$long"
}

# in_time PID: it ended by itself, with the status of one that was interrupted.
in_time() {
    tries=0
    while [ -d "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; do
        tries=$((tries + 1))
        if [ $tries -gt 100 ]; then
            kill -9 "$1"
            return 1
        fi
        sleep 0.05
    done
    got=0
    wait "$1" || got=$?
    [ $got = 130 ]
}

case_sum_shows_how_far_it_is() {
    head -c 5000000 /dev/urandom >"$scratch/summed"
    a put -q "$scratch/summed" summed
    a --progress on sum --recompute summed >"$scratch/out" 2>"$scratch/err"
    grep -q '[0-9]%.*summed' "$scratch/err"
    [ "$(cut -c 1-64 "$scratch/out")" = "$(sha256sum <"$scratch/summed" | cut -c 1-64)" ]
    a -n --progress on sum summed 2>&1 >/dev/null | grep -q '%'
    a rm summed
    rm "$scratch/summed"
}

case_signals_end_what_runs() {
    [ -d /proc/self ] || skip "no /proc"
    truncate -s 2000000000 "$scratch/big"
    a put -q "$scratch/big" big
    rm "$scratch/big"
    mkdir "$scratch/signalled"
    # Under nohup a hang-up is nothing to end for.
    python3 -c 'import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$ASHLAR" -s "$store" get big "$scratch/signalled/out" 2>/dev/null &
    tries=0
    until ls -A "$scratch/signalled" | grep -q ashlar; do
        tries=$((tries + 1))
        [ $tries -lt 500 ]
        sleep 0.01
    done
    kill -HUP $!
    in_time $!
    [ -z "$(ls -A "$scratch/signalled")" ]
    "$ASHLAR" -s "$store" sum --recompute big >/dev/null 2>"$scratch/err" &
    sleep 0.4
    kill -INT $!
    in_time $!
    mkfifo "$scratch/unread"
    exec 8<>"$scratch/unread"
    for words in 'cat big' 'get big -' 'gridfs --local - get big'; do
        "$ASHLAR" -s "$store" $words >"$scratch/unread" 2>"$scratch/err" &
        sleep 0.5
        kill -INT $!
        in_time $!
    done
    exec 8<&-
    a rm big
}

run_cases
