#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The npm package gridfs-locks, unmodified, and Ashlar lock the same files on `ashlar serve`.
# usage: ASHLAR=… locks.sh   (npm packages go to $ASH_NODE_FOLDER-locks, default: a scratch folder)
tests=$(cd "$(dirname "$0")" && pwd)
here=$tests/locks_packages
[ -z "${ASH_NODE_FOLDER:-}" ] || ASH_NODE_FOLDER=$ASH_NODE_FOLDER-locks
. "$tests/../lib.sh"
. "$tests/node.sh"
export ASHLAR

start_server "$scratch/store" || exit 1

cp "$tests/locks_peer.js" "$node_folder/"
: "${LOCK_HOLDER:?set LOCK_HOLDER to the program of lock_holder.c}"
export LOCK_HOLDER

locks() {
    run_node "$tests/locks_npm.js" "mongodb://$server_address/test" "$1"
}

case_its_reader_lets_our_writer_in_within_50_ms() {
    locks its_reader_lets_our_writer_in_within_50_ms
}

case_our_writer_blocks_it() {
    locks our_writer_blocks_it_and_its_time_out_hurts_nobody
}

case_its_time_out_does_not_starve_our_waiter() {
    locks its_time_out_does_not_starve_our_waiter
}

case_its_paused_holder() {
    locks its_paused_holder_is_taken_over_and_its_release_noticed
}

case_our_command_is_stopped_when_its_lock_is_lost() {
    locks our_command_is_stopped_when_its_lock_is_lost
}

case_our_dead_holder() {
    locks our_dead_holder_is_taken_over_by_it
}

case_it_removes_the_lock() {
    locks it_removes_the_lock_while_we_wait
}

case_readers_share() {
    locks readers_of_both_share
}

case_its_clock_is_behind() {
    command -v faketime >/dev/null || skip "faketime is not installed"
    locks clock_behind
}

case_its_clock_is_ahead() {
    command -v faketime >/dev/null || skip "faketime is not installed"
    locks clock_ahead
}

run_cases
