#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `ashlar serve --config`: one file says what the options do; all that is wrong with it is told, and SIGHUP reads it again.
. "$(dirname "$0")/../lib.sh"
conf=$scratch/ashlar.conf
unset ASHLAR_STORE
python=/usr/bin/python3 # which has Debian's pymongo
[ -x $python ] || python=python3

# serve_config [ARGS…]: a server by $conf, whose address is $server_address.
serve_config() {
    rm -f "$scratch/server.out"
    "$ASHLAR" serve --config "$conf" "$@" >"$scratch/server.out" 2>"$scratch/server.err" &
    server_pid=$!
    echo "$server_pid" >>"$scratch/pids"
    await grep -qs '^mongodb://' "$scratch/server.out"
    server_address=$(sed -n 's|^mongodb://\([^/]*\)/.*|\1|p' "$scratch/server.out" | head -n 1)
}

# await COMMAND…: until it succeeds.
await() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 400 ] || {
            cat "$scratch/server.err" >&2
            return 1
        }
        sleep 0.05
    done
}

# hang_up N: have the file read again, for the N-th time, and wait until that is done.
hang_up() {
    kill -HUP "$server_pid"
    wanted=$1
    await read_so_often
}

read_so_often() {
    [ "$(grep -c "is read again\$\|stay as they were\$" "$scratch/server.err")" -ge "$wanted" ]
}

case_good_and_bad_files() {
    printf 'mongo = 127.0.0.1:0\n' >"$conf"
    expect_status 0 "$ASHLAR" serve --config "$conf" --check-config
    [ "$(cat "$scratch/out")" = "$conf: good" ]
    [ ! -s "$scratch/err" ]
    expect_status 0 "$ASHLAR" --json serve --config "$conf" --check-config
    [ "$(field good <"$scratch/out") $(field errors <"$scratch/out")" = 'true []' ]
    printf 'mungo = 1\n\ndurability = never\n[webdav]\nendpoints = /a, /a b\n' >"$conf"
    expect_status 2 "$ASHLAR" serve --config "$conf" --check-config
    [ "$(cut -d: -f1,2 "$scratch/out")" = "$(printf '%s:%d\n' "$conf" 1 "$conf" 3 "$conf" 5)" ]
    grep -q ':1: unknown key "mungo"; did you mean mongo?' "$scratch/out"
    grep -q ':3: durability takes file, every or interval, not "never"$' "$scratch/out"
    grep -q ':5: two trees are to be at "/a/"$' "$scratch/out"
    expect_status 2 "$ASHLAR" --json serve --config "$conf" --check-config
    python3 -c 'import json, sys
report = json.load(sys.stdin)
assert report["good"] is False and report["errorCount"] == 3 and report["file"] == sys.argv[1]
assert [e["line"] for e in report["errors"]] == [1, 3, 5] and all(e["message"] for e in report["errors"])' "$conf" <"$scratch/out"
    # Nothing is served, and no store is made, by a bad one.
    expect_status 2 "$ASHLAR" -s "$scratch/none" serve --config "$conf"
    [ "$(grep -c "^ashlar serve: $conf:[135]: " "$scratch/err")" = 3 ]
    [ ! -s "$scratch/out" ]
    [ ! -e "$scratch/none" ]
}

case_no_file() {
    expect_status 2 "$ASHLAR" serve --config "$scratch/nowhere" --check-config
    grep -q "^$scratch/nowhere: cannot read it: No such file" "$scratch/out"
    expect_status 2 "$ASHLAR" serve --config "$scratch"
    grep -q "$scratch: it is no regular file" "$scratch/err"
    expect_status 2 "$ASHLAR" serve --check-config
    grep -q 'needs a --config FILE' "$scratch/err"
}

# What a terminal would obey is shown in other words.
case_no_tricks() {
    printf 'mongo = 1\nhttp-log = \033[2J\nx\302\2331m = 1\n' >"$conf"
    expect_status 2 "$ASHLAR" serve --config "$conf" --check-config
    grep -q ':2: a control character (0x1b)' "$scratch/out"
    fails grep -q "$(printf '\033')" "$scratch/out"
    fails grep -q "$(printf '\302\233')" "$scratch/out"
    grep -q 'unknown key "x\\u009b1m"' "$scratch/out"
}

case_every_option_is_a_key() {
    "$ASHLAR" help serve | sed -n '/^Options:/,/^$/s/^ *--\([a-z-]*\).*/\1/p' | grep -v config >"$scratch/options"
    [ "$(wc -l <"$scratch/options")" -gt 15 ]
    echo 'x = 1' >"$conf"
    "$ASHLAR" serve --config "$conf" --check-config >"$scratch/out" || true
    while read -r option; do
        grep -q "[ ,]$option\(,\|\$\)" "$scratch/out"
    done <"$scratch/options"
    # In the table's order, too, by which values are found.
    [ "$(sed 's/.*there are: //; s/, store$//; s/, /\n/g' "$scratch/out")" = "$(cat "$scratch/options")" ]
}

# Said on the command line or in the file: the same words for what cannot be.
case_bad_options() {
    for pair in 'durability never' 'http-log-format xml' 'max-connections 0' 'expire-every 1.5s' 'sum-every x' \
        'replica-set a/b' 'log-level loud' 'stop-timeout 0'; do
        # shellcheck disable=SC2086 # two words
        set -- $pair
        expect_status 2 "$ASHLAR" -s "$scratch/none" serve "--$1" "$2"
        sed "s/^ashlar serve: --//" "$scratch/err" >"$scratch/words"
        echo "$1 = $2" >"$conf"
        expect_status 2 "$ASHLAR" serve --config "$conf" --check-config
        [ "$(sed "s|^$conf:1: ||" "$scratch/out")" = "$(cat "$scratch/words")" ]
    done
    expect_status 2 "$ASHLAR" -s "$scratch/none" serve --http-host 'a,b c'
    expect_status 2 "$ASHLAR" -s "$scratch/none" serve --http-host "$(seq -s, 33)"
    grep -q '1 to 32 names' "$scratch/err"
    [ ! -e "$scratch/none" ]
}

case_what_comes_before_what() {
    printf 'store = %s\nmongo = 127.0.0.1:0\nreplica-set = by-file\nno-socket = yes\n' "$scratch/by-file" >"$conf"
    ASHLAR_STORE=$scratch/by-variable
    export ASHLAR_STORE
    serve_config
    unset ASHLAR_STORE
    [ ! -e "$scratch/by-file/socket" ]
    echo x | "$ASHLAR" -s "mongodb://$server_address/test?replicaSet=by-file" put - file
    stop_server
    [ "$("$ASHLAR" -s "$scratch/by-file" cat file)" = x ]
    [ ! -e "$scratch/by-variable" ]
    serve_config -s "$scratch/by-option" --replica-set by-option
    echo y | "$ASHLAR" -s "mongodb://$server_address/test?replicaSet=by-option" put - file
    stop_server
    [ "$("$ASHLAR" -s "$scratch/by-option" cat file)" = y ]
    # Where the two contradict each other, nothing is guessed.
    expect_status 2 "$ASHLAR" serve --config "$conf" --standalone
    grep -q 'standalone server has no --replica-set' "$scratch/err"
}

# Whoever opened a socket has the file's address already.
case_given_sockets_come_before_the_file() {
    printf 'store = %s\nmongo = 127.0.0.1:1\n' "$scratch/given" >"$conf"
    python3 - "$ASHLAR" "$conf" <<'END'
import os, socket, subprocess, sys
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
def give():
    os.dup2(s.fileno(), 3)
    os.set_inheritable(3, True)
for more, wanted in ([], s.getsockname()[1]), (["--mongo", "fd:3"], s.getsockname()[1]), (["--mongo", "0"], None):
    server = subprocess.Popen(["/bin/sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", sys.argv[1], "serve", "--config", sys.argv[2], *more],
                              env=dict(os.environ, LISTEN_FDS="1", LISTEN_FDNAMES="mongo"), preexec_fn=give, close_fds=False,
                              stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    assert line.startswith("mongodb://127.0.0.1:"), line
    assert (line == f"mongodb://127.0.0.1:{wanted}/\n") == (wanted is not None), line
    server.terminate()
    assert server.wait() == 0
END
}

status_of() { # METHOD URL
    python3 -c 'import sys, urllib.error, urllib.request
request = urllib.request.Request(sys.argv[2], method=sys.argv[1], data=b"x" if sys.argv[1] == "PUT" else None)
try:
    print(urllib.request.urlopen(request).status)
except urllib.error.HTTPError as e:
    print(e.code)' "$1" "$2"
}

case_several_trees() {
    command -v curl >/dev/null || skip 'no curl'
    printf 'store = %s\nmongo = :0\nhttp = :0\n[webdav]\nendpoints = /docs documents\nendpoints = "/old files" old\n' \
        "$scratch/trees" >"$conf"
    serve_config
    at=$(sed -n 's|^\(http://.*\)/$|\1|p' "$scratch/server.out")
    [ "$(status_of PUT "$at/docs/a")" = 201 ]
    [ "$(status_of PUT "$at/old%20files/b")" = 201 ]
    [ "$(status_of PUT "$at/c")" != 201 ]
    # Where no tree is at the top, it says which there are.
    [ "$(curl -sSf "$at/")" = "$(printf 'docs/\nold files/')" ]
    curl -sSf -H 'Accept: text/html' "$at/" | grep -q '<a href="/old%20files/"><bdi>old files/</bdi></a>'
    [ "$(status_of PROPFIND "$at/")" = 404 ]
    stop_server
    # What was put into one is not in the other.
    serve_config --http-root documents
    at=$(sed -n 's|^\(http://.*\)/$|\1|p' "$scratch/server.out")
    [ "$(status_of GET "$at/a")" = 200 ]
    [ "$(status_of GET "$at/b")" = 404 ]
    stop_server
}

case_read_again() {
    $python -c 'import pymongo' 2>/dev/null || skip 'no pymongo'
    printf 'store = %s\nmongo = :0\nmax-connections = 10\nno-socket = yes\n' "$scratch/again" >"$conf"
    serve_config
    places() {
        $python -c 'import pymongo, sys
connections = pymongo.MongoClient("mongodb://" + sys.argv[1], directConnection=True).admin.command("serverStatus")["connections"]
print(connections["current"] + connections["available"])' "$server_address"
    }
    [ "$(places)" = 10 ]
    printf 'store = %s\nmongo = :0\nmax-connections = 20\nlog-level = debug\nno-background = yes\nno-socket = yes\n' \
        "$scratch/again" >"$conf"
    hang_up 1
    [ "$(places)" = 20 ]
    grep -q 'info max-connections is 20 from now on$' "$scratch/server.err"
    grep -q 'info log-level is debug from now on$' "$scratch/server.err"
    grep -q "warning no-background has changed in $conf, which takes a restart\$" "$scratch/server.err"
    # A bad one changes nothing, and all that is wrong is told.
    printf 'max-connections = 30\nx = 1\ny = 1\n' >"$conf"
    hang_up 2
    [ "$(places)" = 20 ]
    grep -q "error $conf:2: unknown key \"x\"" "$scratch/server.err"
    grep -q "error $conf:3: unknown key \"y\"" "$scratch/server.err"
    rm "$conf"
    hang_up 3
    [ "$(places)" = 20 ]
    printf 'store = %s\nmongo = :0\n' "$scratch/again" >"$conf"
    hang_up 4
    [ "$(places)" = 1000 ]
    grep -q 'info max-connections is as by default from now on$' "$scratch/server.err"
    grep -q "warning no-socket has changed in $conf, which takes a restart\$" "$scratch/server.err"
    # The server runs as at first, and is told nothing of what is again as it was then.
    [ "$(grep -c 'no-background has changed' "$scratch/server.err")" = 1 ]
    stop_server
}

case_an_interval_that_becomes_short() {
    printf 'store = %s\nmongo = :0\nexpire-every = 1d\n' "$scratch/interval" >"$conf"
    serve_config
    echo x | "$ASHLAR" -s "$scratch/interval" -q put --ttl 1 - file
    sed -i 's/1d/1/' "$conf"
    hang_up 1
    await grep -q '1 file expired' "$scratch/server.err"
    stop_server
}

case_the_command_line_stays() {
    printf 'store = %s\nmongo = :0\nmax-connections = 10\nlog-level = error\n' "$scratch/stays" >"$conf"
    serve_config --max-connections 5 --log-level info
    sed -i 's/10/20/' "$conf"
    hang_up 1
    grep -q "max-connections has changed in $conf, but the command line has --max-connections" "$scratch/server.err"
    stop_server
}

# On a terminal SIGHUP means the file, too.
case_a_hang_up_on_a_terminal() {
    printf 'store = %s\nmongo = :0\n' "$scratch/terminal" >"$conf"
    python3 - "$ASHLAR" "$conf" <<'END'
import os, pty, signal, sys
child, terminal = pty.fork()
if child == 0:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.execv(sys.argv[1], [sys.argv[1], "serve", "--config", sys.argv[2]])
seen = b""
while b"mongodb://" not in seen:
    seen += os.read(terminal, 1000)
for i in range(2):
    os.kill(child, signal.SIGHUP)
    while seen.count(b"is read again") <= i:
        seen += os.read(terminal, 1000)
os.kill(child, signal.SIGTERM)
while os.waitpid(child, os.WNOHANG)[0] == 0:
    try:
        os.read(terminal, 1000)
    except OSError:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
END
}

# Who started it hears of it, as systemd wants to.
case_who_started_it_is_told() {
    printf 'store = %s\nmongo = :0\n' "$scratch/told" >"$conf"
    python3 - "$ASHLAR" "$conf" "@ashlar-test-$$" <<'END'
import os, re, signal, socket, subprocess, sys, time
news = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
news.bind("\0" + sys.argv[3][1:])
news.settimeout(60)
server = subprocess.Popen([sys.argv[1], "serve", "--config", sys.argv[2]], env=dict(os.environ, NOTIFY_SOCKET=sys.argv[3]),
                          stdout=subprocess.PIPE)
assert re.fullmatch(rb"READY=1\nSTATUS=Serving mongodb://127\.0\.0\.1:\d+/", news.recv(1000))
before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
server.send_signal(signal.SIGHUP)
at = int(re.fullmatch(rb"RELOADING=1\nMONOTONIC_USEC=(\d+)", news.recv(1000))[1])
assert before <= at <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
assert news.recv(1000).startswith(b"READY=1\n")
server.terminate()
assert news.recv(1000) == b"STOPPING=1"
sys.exit(server.wait())
END
}

run_cases
