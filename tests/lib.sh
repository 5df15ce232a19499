# SPDX-License-Identifier: Apache-2.0
# For test scripts: TAP output, a scratch folder, a server.  Source it: . "$(dirname "$0")/../lib.sh"
#
# Needs $ASHLAR, the command under test.  Every case is a function named case_*; a case fails by returning non-zero (set -e is on
# inside it).  skip_all REASON ends the script as a counted skip.
if [ -z "${BASH_VERSION-}" ] && command -v bash >/dev/null; then
    exec bash --posix -O xpg_echo "$0" "$@" # it can show the commands of a case that failed
fi
set -u
: "${ASHLAR:?set ASHLAR to the command under test}"
: "${tests_folder:=$(dirname "$0")/..}"
. "$tests_folder/block.sh"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ashlar-test.XXXXXX")
server_pid=

cleanup() {
    # Cases run in subshells, so servers are remembered in a file.
    [ ! -f "$scratch/pids" ] || while read -r pid; do kill -9 "$pid" 2>/dev/null; done <"$scratch/pids"
    rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# Inside a case: end it as a counted skip.
skip() {
    echo "$1" >"$scratch/skip"
    exit 77
}

# start_server STORE [ARGS…]: sets $server_pid and $server_address (a free port on loopback).
start_server() {
    server_store=$1
    shift
    rm -f "$scratch/server.out" # of an earlier server: its address is not ours
    "$ASHLAR" -s "$server_store" serve --mongo 127.0.0.1:0 "$@" >"$scratch/server.out" 2>"$scratch/server.err" &
    server_pid=$!
    echo "$server_pid" >>"$scratch/pids"
    tries=0
    while ! grep -qs '^mongodb://' "$scratch/server.out"; do
        tries=$((tries + 1))
        if [ $tries -gt 200 ] || ! kill -0 "$server_pid" 2>/dev/null; then
            echo "# the server did not start:" >&2
            cat "$scratch/server.err" >&2
            return 1
        fi
        sleep 0.05
    done
    server_address=$(sed -n 's|^mongodb://\([^/]*\)/.*|\1|p' "$scratch/server.out" | head -n 1)
}

# Ends the server as a person would and waits until it is gone (it may be the child of another shell, so not by wait alone).
stop_server() {
    kill "$server_pid"
    tries=0
    while [ -d "/proc/$server_pid" ] && ! grep -q '^State:.Z' "/proc/$server_pid/status" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || return 1
        sleep 0.05
    done
    server_pid=
}

# start_nats: sets $nats_pid and $nats, the address of a NATS server with JetStream and nothing in it.
start_nats() {
    command -v nats-server >/dev/null || skip 'no nats-server'
    "$ASHLAR" -s nats://127.0.0.1:1 object ls >"$scratch/no-nats" 2>&1 || true
    fails grep -q 'lacks JetStream' "$scratch/no-nats" || skip 'built without libnats'
    nats_folder=$(mktemp -d "$scratch/nats.XXXXXX")
    nats-server -js -a 127.0.0.1 -p -1 -sd "$nats_folder/data" >"$nats_folder/log" 2>&1 &
    nats_pid=$!
    echo $nats_pid >>"$scratch/pids"
    tries=0
    while ! grep -qs 'Server is ready' "$nats_folder/log"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.1
    done
    # shellcheck disable=SC2034 # for who sources this
    nats=nats://$(sed -n 's/.*Listening for client connections on //p' "$nats_folder/log")
}

stop_nats() {
    kill -TERM $nats_pid
    wait $nats_pid || true
}

# field NAME: of JSON objects on standard input, one a line; "a.b" is within a.  A missing one is null.
field() {
    python3 -c 'import json, sys
for line in sys.stdin:
    value = json.loads(line)
    for part in sys.argv[1].split("."):
        value = value.get(part) if isinstance(value, dict) else None
    print(value if isinstance(value, str) else json.dumps(value))' "$1"
}

# expect_status STATUS COMMAND…: passes when the command exits so; its output is in $scratch/out and $scratch/err.
expect_status() {
    expected=$1
    shift
    got=0
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || got=$?
    [ "$got" = "$expected" ] && return 0
    echo "# exit status $got instead of $expected: $*" >&2
    head -n 5 "$scratch/err" | sed 's/^/#   /' >&2
    return 1
}

# fails COMMAND…: passes when the command does not.  A line of a case that begins with "!" would never end it: set -e overlooks
# what is inverted.  Of a pipeline only the last command is looked at: a | fails b.
fails() {
    ! "$@"
}

# Every function of the script that is called case_…, or those that are named.
run_cases() { # [FUNCTION…]
    # shellcheck disable=SC2046 # names without blanks
    [ $# -gt 0 ] || set -- $(sed -n 's/^\(case_[A-Za-z0-9_]*\)() *{.*/\1/p' "$0")
    run_these_cases "$@"
}

run_these_cases() { # FUNCTION…
    echo "1..$#"
    number=0
    failures=0
    for name; do
        number=$((number + 1))
        # A subshell in a condition would switch set -e off inside it.
        set +e
        (
            exec 9>"$scratch/trace"
            # shellcheck disable=SC2034 # bash reads it; another shell shows no trace
            BASH_XTRACEFD=9
            [ -z "${BASH_VERSION-}" ] || set -x
            set -e
            "$name"
        ) >"$scratch/said"
        result=$?
        set +e
        sed 's/^/# /' "$scratch/said"
        if [ $result = 77 ]; then
            echo "ok $number $name # SKIP $(cat "$scratch/skip" 2>/dev/null)"
        elif [ $result = 0 ]; then
            echo "ok $number $name"
        else
            echo "not ok $number $name"
            tail -n 12 "$scratch/trace" | cut -c 1-300 | sed 's/^/#   /'
            failures=$((failures + 1))
        fi
    done
    exit $((failures > 0))
}
