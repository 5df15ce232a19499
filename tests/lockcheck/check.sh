#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stop and kill processes that share a file under locks, and check what they did.
# usage: ASHLAR=… LOCK_CHECKER=… check.sh [SECONDS [PROCESSES [SEED]]]     default 8 s, 6 processes; the long run: 600 16
seconds=${1:-8}
processes=${2:-6}
seed=${3:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
. "$(dirname "$0")/../lib.sh"

start_server "$scratch/store" || exit 1

check() { # DATABASE [unfenced]
    database=$1
    shift
    echo "# seed $seed"
    "$LOCK_CHECKER" "mongodb://$server_address/$database" "$seconds" "$processes" "$seed" "$@"
}

case_fenced_commits_lose_nothing() {
    check fenced
}

# The checker must be able to see what the fence prevents.
case_without_the_fence_updates_are_lost() {
    got=0
    check unfenced unfenced || got=$?
    [ $got = 1 ]
}

run_cases
