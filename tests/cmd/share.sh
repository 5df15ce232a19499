#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Commands at the same time on a folder that nobody serves.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
a() {
    "$ASHLAR" -s "$store" "$@" 7>&- 8>&-
}
wait_for_door() {
    tries=0
    while [ ! -S "$store/ashlar.guest.sock" ]; do
        tries=$((tries + 1))
        [ $tries -lt 1000 ]
        sleep 0.05
    done
}
# A put that holds the folder until end_holder.
begin_holder() { # NAME
    rm -rf "$store" "$scratch/slow"
    echo one | a put - first
    mkfifo "$scratch/slow"
    # Not by a(): what waits in the background must be the command itself, and keep no other's pipe open.
    "$ASHLAR" -s "$store" put - "$1" <"$scratch/slow" >"$scratch/holder.out" 2>"$scratch/holder.err" &
    holder=$!
    exec 8>"$scratch/slow"
    head -c 1000000 /dev/urandom >"$scratch/part"
    cat "$scratch/part" >&8
    wait_for_door
}
end_holder() {
    exec 8>&-
    wait "$holder"
}

case_beside_a_put() {
    begin_holder slow
    [ "$(a ls)" = first ]
    [ "$(a cat first)" = one ]
    echo two | a put - second
    [ "$(a cat second)" = two ]
    a rm first
    a check
    end_holder
    [ ! -e "$store/ashlar.guest.sock" ]
    a cat slow | cmp - "$scratch/part"
    [ "$(a ls | sort | tr '\n' ' ')" = "second slow " ]
    a check
}

wait_for() { # TEXT FILE
    tries=0
    until grep -q "$1" "$2"; do
        tries=$((tries + 1))
        [ $tries -lt 1000 ]
        sleep 0.05
    done
}

# Whoever came in by the holder's door is waited for.
case_the_guest_takes_longer() {
    begin_holder first_done
    mkfifo "$scratch/slower"
    "$ASHLAR" -s "$store" -v put - guest <"$scratch/slower" >"$scratch/guest.out" 2>"$scratch/guest.err" 8>&- &
    guest=$!
    exec 7>"$scratch/slower"
    cat "$scratch/part" >&7
    wait_for 'by the process that holds the folder' "$scratch/guest.err"
    exec 8>&-
    wait_for 'waiting for other commands' "$scratch/holder.err"
    cat "$scratch/part" >&7
    exec 7>&-
    wait "$guest"
    wait "$holder"
    [ "$(a cat guest | wc -c)" = 2000000 ]
    a cat first_done | cmp - "$scratch/part"
}

# A guest's threads have connections of their own, some of which it makes when the holder is through.
case_a_guest_with_threads() {
    mkdir "$scratch/many"
    for i in $(seq 1 300); do
        seq "$i" 1000 >"$scratch/many/$i"
    done
    begin_holder slow
    "$ASHLAR" -s "$store" -v tree put -r "$scratch/many" many >"$scratch/guest.out" 2>"$scratch/guest.err" 8>&- &
    guest=$!
    until grep -q 'by the process that holds the folder' "$scratch/guest.err"; do
        :
    done
    kill -STOP "$guest"
    exec 8>&-
    wait_for 'waiting for other commands' "$scratch/holder.err"
    [ -e "$store/ashlar.guest.shut" ]
    kill -CONT "$guest"
    wait "$guest"
    wait "$holder"
    [ ! -e "$store/ashlar.guest.shut" ]
    grep -q '^300 new' "$scratch/guest.out"
}

# Whoever reads to the end is a guest of the one who writes: neither waits for the other.
case_from_one_to_the_other() {
    rm -rf "$store"
    head -c 1000000 /dev/urandom >"$scratch/part"
    a put - one <"$scratch/part"
    "$ASHLAR" -s "$store" cat one | { # not by a(), whose shell would keep the pipe open
        wait_for_door
        timeout 50 "$ASHLAR" -s "$store" put - two
    }
    a cat two | cmp - "$scratch/part"
    a object add things >"$scratch/add"
    a object put things "$scratch/part" --name one
    "$ASHLAR" -s "$store" object get things one -O - | {
        wait_for_door
        timeout 50 "$ASHLAR" -s "$store" object put things --name two
    }
    a object get things two -O - | cmp - "$scratch/part"
    a check
}

# Between the look whether a door answers and the way through it, its command ends: the folder is free then, and nobody waits for
# what is gone.
case_the_door_is_shut_meanwhile() {
    python=/usr/bin/python3
    [ -x $python ] || python=python3
    rm -rf "$store"
    a init
    cat >"$scratch/holder.py" <<'END'
import fcntl, os, socket, sys
store = sys.argv[1]
held = [os.open(store, os.O_RDONLY), os.open(store + "/lock", os.O_RDWR)]
for fd in held:
    fcntl.flock(fd, fcntl.LOCK_EX)
door = socket.socket(socket.AF_UNIX)
door.bind(store + "/ashlar.guest.sock")
door.listen()
print("ready", flush=True)
door.accept()
os.unlink(store + "/ashlar.guest.sock")
door.close()
END
    "$python" "$scratch/holder.py" "$store" >"$scratch/holder.out" 8>&- &
    holder=$!
    echo $holder >>"$scratch/pids"
    wait_for ready "$scratch/holder.out"
    echo one | a tree put - one
    wait "$holder"
    [ "$(a tree cat one)" = one ]
}

# Six make one store, and put into it, at once: each has its turn, or comes in by another's door.
case_first_puts_at_once() {
    for round in 1 2 3 4 5; do
        rm -rf "$store"
        puts=
        for i in 1 2 3 4 5 6; do
            echo $i | "$ASHLAR" -s "$store" -q tree put - f$i &
            puts="$puts $!"
        done
        for put in $puts; do
            wait "$put"
        done
        [ "$(a tree cat f1 f2 f3 f4 f5 f6 | tr -d '\n')" = 123456 ]
    done
}

# A holder that was killed leaves its socket; the next one makes a new one.
case_after_a_kill() {
    begin_holder lost
    kill -9 "$holder"
    wait "$holder" || true
    exec 8>&-
    [ "$(a ls)" = first ]
    begin_holder again
    [ "$(a ls)" = first ]
    end_holder
    a check
}

run_cases
