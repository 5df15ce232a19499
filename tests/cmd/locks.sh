#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The verbs lock and locks, on a folder and on a server.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
a() {
    "$ASHLAR" -s "$store" "$@"
}
export store ASHLAR
nested() { # SCRIPT: for the command under a lock, with a() as here
    printf 'a() { "$ASHLAR" -s "$store" "$@"; }\n%s\n' "$1"
}

case_status_is_passed_on() {
    a init
    a lock x -- true
    expect_status 7 "$ASHLAR" -s "$store" lock x -- sh -c 'exit 7'
    expect_status 143 "$ASHLAR" -s "$store" lock x -- sh -c 'kill $$'
    expect_status 127 "$ASHLAR" -s "$store" lock x -- "$scratch/no such program"
    expect_status 2 "$ASHLAR" -s "$store" lock x
    expect_status 2 "$ASHLAR" -s "$store" lock --wait soon x -- true
}

case_command_sees_its_lock_and_the_store() {
    a init
    a lock y -- sh -c "$(nested 'echo "$ASHLAR_LOCK_NAME $ASHLAR_LOCK_TOKEN" | a put - note')"
    a cat note | grep -q '^y [1-9]'
    before=$(a cat note | cut -d' ' -f2)
    a lock y -- sh -c 'echo $ASHLAR_LOCK_TOKEN' >"$scratch/token"
    [ "$(cat "$scratch/token")" -gt "$before" ]
    # It is asked for when the command begins, and never 0, whatever the lock and however often.
    last=0
    for how in '' --shared '' '' --shared; do
        a lock $how z -- sh -c 'echo $ASHLAR_LOCK_TOKEN' >"$scratch/token"
        [ "$(cat "$scratch/token")" -gt "$last" ]
        last=$(cat "$scratch/token")
    done
}

case_exclusion() {
    a init
    a lock z -- sh -c "$(nested '
        a lock z -- true; [ $? = 6 ] || exit 1
        a lock --shared z -- true; [ $? = 6 ] || exit 2
        a lock other -- true || exit 3')"
    a lock --shared z -- sh -c "$(nested '
        a lock --shared z -- true || exit 1
        a lock z -- true; [ $? = 6 ] || exit 2')"
    expect_status 0 "$ASHLAR" -s "$store" lock z -- true
}

case_waiting() {
    a init
    mkfifo "$scratch/begun"
    a lock w -- sh -c "echo >'$scratch/begun'; sleep 0.5; echo first >>'$scratch/order'" &
    read -r _ <"$scratch/begun"
    a lock --wait 20 w -- sh -c "echo second >>'$scratch/order'"
    wait
    [ "$(tr '\n' ' ' <"$scratch/order")" = 'first second ' ]
}

case_locks_are_listed() {
    a init
    a lock --meta 'a note' listed -- sh -c "$(nested 'a locks; a --json locks ls')" >"$scratch/out"
    grep -q '^"listed"  write  until 2' "$scratch/out"
    grep -q 'held by process [0-9]* on .*since 2' "$scratch/out"
    grep -q 'a note' "$scratch/out"
    grep -q '"id" : "listed", "state" : "write"' "$scratch/out"
    [ -z "$(a locks 2>"$scratch/err")" ]
    grep -q 'no lock is held or waited for; --all shows [0-9]* that \(is\|are\) free' "$scratch/err"
    a locks --all | grep -q '^"listed"  free'
    a locks ls -a | grep -q '^"listed"  free'
    a lock id:42 -- sh -c "$(nested 'a locks')" | grep -q '^42  write'
}

case_broken_lock_ends_the_command() {
    a init
    got=0
    a lock --lease 1 broken -- sh -c "$(nested 'a locks break broken --reason "it hangs"
        sleep 20 & wait $!; exit 3')" 2>"$scratch/err" || got=$?
    [ $got = 6 ]
    grep -q 'taken over' "$scratch/err"
    a locks -a | grep -q 'it hangs'
    expect_status 4 "$ASHLAR" -s "$store" locks break nothing --reason x
    expect_status 2 "$ASHLAR" -s "$store" locks break broken
    expect_status 2 "$ASHLAR" -s "$store" locks sing
}

# Not only when the lease is to be renewed, which is after ten seconds.
case_broken_lock_is_noticed_at_once() {
    for place in folder server; do
        if [ $place = server ]; then
            start_server "$scratch/noticed" 2>/dev/null
            store=mongodb://$server_address/test
        fi
        for shared in '' --shared; do
            got=0
            began=$(date +%s)
            a lock $shared once -- sh -c "$(nested 'sleep 1; a locks break once --reason test
                exec sleep 20')" 2>"$scratch/err" || got=$?
            [ $got = 6 ]
            [ $(($(date +%s) - began)) -lt 7 ]
            grep -q 'stopping the command' "$scratch/err"
        done
    done
    stop_server
}

# hold NAME SECONDS [OPTIONS…]: until the lock is there
hold() {
    name=$1
    seconds=$2
    shift 2
    rm -f "$scratch/held"
    mkfifo "$scratch/held"
    "$ASHLAR" -s "$store" lock "$@" "$name" -- sh -c "echo >'$scratch/held'; exec sleep $seconds" &
    holder=$!
    read -r _ <"$scratch/held"
}

case_refusal_says_who() {
    a init
    hold job 3 --meta nightly
    expect_status 6 "$ASHLAR" -s "$store" lock job -- true
    grep -q "job: lock is held for writing by process $holder on .* since 2.*, until 2.*Z .*ashlar locks.*--wait" "$scratch/err"
    expect_status 6 "$ASHLAR" -s "$store" --json lock --wait 0.2 job -- true
    grep -q '"code" : "ELOCKED", "exit" : 6, .*"item" : "job", .*held for writing by process' "$scratch/err"
    fails grep -q -- '--wait' "$scratch/err"
    kill $holder
    wait $holder || true
    hold job 3 --shared
    expect_status 6 "$ASHLAR" -s "$store" lock job -- true
    grep -q "held for reading by 1 reader: process $holder on " "$scratch/err"
    kill $holder
}

case_one_lock_is_listed() {
    a init
    a lock one -- true
    a lock id:7 -- true
    [ "$(a locks ls one | grep -c '^"one"')" = 1 ]
    [ "$(a locks ls id:7)" = "$(a locks ls --all | grep '^7 ')" ]
    expect_status 4 a locks ls three
    grep -q 'three: nobody ever took a lock of that name' "$scratch/err"
    expect_status 0 a -d nowhere locks
    grep -q 'there are no locks of bucket fs in database nowhere' "$scratch/err"
    expect_status 4 a -d nowhere locks ls one
    a df | fails grep -q nowhere
    expect_status 2 "$ASHLAR" -s "$store" locks ls one id:7
    a locks break one --reason 'because I say so'
    a locks ls one | grep -q 'broken by process [0-9]* on .* at 2.*: because I say so'
}

case_interrupted_wait_runs_nothing() {
    a init
    hold w 6
    got=0
    timeout --foreground --preserve-status -s INT 0.7 "$ASHLAR" -s "$store" lock --wait 20 w -- touch "$scratch/ran" 2>"$scratch/err" || got=$?
    [ $got = 130 ]
    grep -q 'w: waiting for the lock was cancelled' "$scratch/err"
    a locks ls w | grep -q 'held by'
    a locks ls w | fails grep -q 'waiting'
    kill $holder
    wait $holder || true
    [ ! -e "$scratch/ran" ]
}

case_signals_are_passed_on() {
    a init
    for signal in INT TERM HUP; do
        rm -f "$scratch/held"
        mkfifo "$scratch/held"
        # A shell lets its children in the background ignore SIGINT, and nohup all of them SIGHUP; python does not.
        python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$ASHLAR" -s "$store" lock s -- \
            sh -c "trap 'exit 5' $signal; echo >'$scratch/held'; sleep 5 & wait" &
        pid=$!
        read -r _ <"$scratch/held"
        kill -$signal $pid
        got=0
        wait $pid || got=$?
        [ $got = 5 ]
        a locks ls s | grep -q free
    done
}

# Ctrl-C at a terminal goes to both; the command alone decides what it means.
case_ctrl_c_is_the_commands() {
    a init
    cat >"$scratch/type.py" <<'END'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
said = b""
while b"begun" not in said:
    said += os.read(fd, 1000)
os.write(fd, b"\x03")
while True:
    try:
        more = os.read(fd, 1000)
    except OSError:
        break
    if not more:
        break
    said += more
print(said.count(b"caught"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
    ctrl_c() {
        python3 "$scratch/type.py" "$ASHLAR" -s "$store" lock c -- "$@"
    }
    [ "$(ctrl_c sh -c 'echo begun; exec sleep 5')" = '0 130' ]
    [ "$(ctrl_c sh -c 'trap "echo caught" INT; echo begun; sleep 1; exit 3')" = '1 3' ]
    [ "$(ctrl_c sh -c 'trap "" INT; trap "echo caught" TERM; echo begun; sleep 1; exit 7')" = '0 7' ]
    a locks ls c | grep -q free
}

case_killed_command_and_killed_holder() {
    a init
    expect_status 137 "$ASHLAR" -s "$store" lock k -- sh -c 'kill -9 $$'
    a locks ls k | grep -q free
    hold k 2 --lease 1
    kill -9 $holder
    wait $holder || true
    a lock --wait 20 k -- true
}

case_lost_lock_with_json() {
    a init
    got=0
    a --json lock --lease 1 l -- sh -c "$(nested 'a locks break l --reason test
        exec sleep 20')" 2>"$scratch/err" || got=$?
    [ $got = 6 ]
    grep -q '"warning" : {.*taken over.*stopping the command' "$scratch/err"
    grep -q '"error" : { "code" : "ELOST", "exit" : 6, "verb" : "lock", "item" : "l", .*status 143' "$scratch/err"
}

case_on_a_server() {
    start_server "$scratch/served" 2>/dev/null
    store=mongodb://$server_address/test
    hold job 4 --lease 1
    expect_status 6 "$ASHLAR" -s "$store" lock job -- true
    grep -q "held for writing by process $holder on " "$scratch/err"
    a locks | grep -q '^"job"  write'
    a lock --wait 20 job -- echo second >"$scratch/second" &
    second=$!
    tries=0
    until a locks | grep -q 'waiting: process'; do
        tries=$((tries + 1))
        [ $tries -lt 100 ]
        sleep 0.05
    done
    kill $holder
    wait $second
    [ "$(cat "$scratch/second")" = second ]
    hold job 4 --lease 1
    kill -9 $holder
    wait $holder || true
    a lock --wait 20 job -- true
    got=0
    a lock --lease 1 job -- sh -c "$(nested 'a locks break job --reason gone
        exec sleep 20')" 2>"$scratch/err" || got=$?
    [ $got = 6 ]
    # The server goes away: the lease cannot be renewed, and the command is stopped.
    got=0
    began=$(date +%s)
    a lock --lease 1 job -- sh -c "kill $server_pid; exec sleep 20" 2>"$scratch/err" || got=$?
    [ $got = 6 ]
    [ $(($(date +%s) - began)) -lt 15 ]
    grep -q 'stopping the command' "$scratch/err"
}

case_shells_complete_them() {
    for shell in bash zsh fish; do
        a completion $shell >"$scratch/completion"
        grep -q -- '\<lock\>.*shared' "$scratch/completion"
        grep -q -- '\<locks\>.*reason' "$scratch/completion"
    done
}

# However long the server says nothing.
case_wait_ends_though_the_server_hangs() {
    start_server "$scratch/hangs"
    "$ASHLAR" -s "$scratch/hangs" lock job -- sleep 300 &
    holder=$!
    tries=0
    until "$ASHLAR" -s "$scratch/hangs" --json locks | grep -q job; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    "$ASHLAR" -s "$scratch/hangs" lock --wait 3 job -- true 2>"$scratch/err" &
    waiter=$!
    sleep 1
    kill -STOP "$server_pid"
    began=$(date +%s)
    status=0
    wait "$waiter" || status=$?
    took=$(($(date +%s) - began))
    kill -CONT "$server_pid"
    kill "$holder"
    wait "$holder" || true
    [ $status = 6 ]
    [ $took -lt 20 ]
    stop_server
}

run_cases
