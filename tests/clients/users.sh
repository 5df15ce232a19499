#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Users, by unmodified pymongo: all commands by all roles, both mechanisms, changes that count at once, what is one's own; and
# by bare messages what attackers send.
# usage: ASHLAR=… users.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
python=/usr/bin/python3
[ -x $python ] || python=python3

# fresh CASE [ARGS…]: on a server of its own
fresh() {
    name=$1
    shift
    start_server "$scratch/$name" "$@"
    $python "$here/users.py" "$server_address" "$name"
    stop_server
}

attack() {
    start_server "$scratch/$1"
    $python "$here/users_attacks.py" "$server_address" "$1"
    # Whatever happened, no log has a password.
    fails grep -q 'pencil' "$scratch/server.err"
    stop_server
}

case_commands_by_roles() { fresh commands_by_roles; }
case_nothing_before_signing_in() { fresh nothing_before_signing_in; }
case_changes_count_at_once() { fresh changes_count_at_once; }
case_cursors_and_sessions_are_ones_own() { fresh cursors_and_sessions_are_ones_own; }
case_joins_are_judged_again() { fresh joins_are_judged_again; }
case_ones_own_collections_are_listed() { fresh ones_own_collections_are_listed; }
case_streams_tell_nothing_of_users() { fresh streams_tell_nothing_of_users; }
case_own_password_and_no_more() { fresh own_password_and_no_more; }
case_mechanisms() { fresh mechanisms; }
case_users_and_roles_are_shown() { fresh users_and_roles_are_shown; }
case_who_may_see_what_databases() { fresh who_may_see_what_databases; }
case_the_first_user_closes_the_door() { fresh the_first_user_closes_the_door --auth; }

beyond() {
    start_server "$scratch/$1"
    $python "$here/users_beyond.py" "$server_address" "$1"
    stop_server
}

case_replays() { attack replays; }
case_steps_out_of_order() { attack steps_out_of_order; }
case_channel_binding_flags() { attack channel_binding_flags; }
case_downgrades() { attack downgrades; }
case_nobody_looks_like_somebody() { attack nobody_looks_like_somebody; }
case_fields_given_twice() { attack fields_given_twice; }
case_other_ways_to_ask() { attack other_ways_to_ask; }
case_strangers_fill_no_tables() { attack strangers_fill_no_tables; }
case_passwords_are_not_shown() { attack passwords_are_not_shown; }
case_names_that_would_forge_a_log() { attack names_that_would_forge_a_log; }

case_roles_and_privileges_given_twice() { beyond roles_and_privileges_given_twice; }
case_users_looked_at_twice() { beyond users_looked_at_twice; }
case_options_given_twice() { beyond options_given_twice; }
case_another_database_is_said() { beyond another_database_is_said; }
case_renamed_into_what_may_be_read() { beyond renamed_into_what_may_be_read; }
case_by_views() { beyond by_views; }
case_users_collections() { beyond users_collections; }
case_names_that_look_like_others() { beyond names_that_look_like_others; }
case_cursors_after_what_was_taken() { beyond cursors_after_what_was_taken; }
case_another_users_session() { beyond another_users_session; }
case_operations_of_others() { beyond operations_of_others; }
case_transactions_ask_for_each_operation() { beyond transactions_ask_for_each_operation; }
case_who_was_somebody_else() { beyond who_was_somebody_else; }
case_indexes_and_validators_tell_nothing() { beyond indexes_and_validators_tell_nothing; }

case_guessing_is_slowed() {
    attack guessing_is_slowed
    grep -q 'from 127.0.0.2:[0-9]* could not sign in as "root" of admin: ' "$scratch/server.err"
}
# Eight who wait have all the places.
case_who_waits_has_no_place_to_keep() {
    start_server "$scratch/places" --max-connections 8
    $python "$here/users_attacks.py" "$server_address" who_waits_has_no_place_to_keep
    stop_server
}
case_who_failed_has_no_place_to_keep() {
    start_server "$scratch/failed" --max-connections 8
    $python "$here/users_attacks.py" "$server_address" who_failed_has_no_place_to_keep
    stop_server
}
case_a_stop_does_not_wait_for_who_waits() {
    start_server "$scratch/stop"
    $python "$here/users_attacks.py" "$server_address" wait >"$scratch/wait.out" &
    waiting=$!
    tries=0
    while ! grep -qs waiting "$scratch/wait.out"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ]
        sleep 0.1
    done
    began=$(date +%s)
    stop_server
    [ $(($(date +%s) - began)) -le 3 ]
    kill $waiting
}

case_origins() { attack origins; }
case_limits_of_a_user() {
    for user in bob carl; do
        echo pencil | "$ASHLAR" -s "$scratch/limits" user add "$user" --role root
    done
    "$ASHLAR" -s "$scratch/limits" user limit bob --connections 2 --operations 50
    start_server "$scratch/limits"
    # Through the server, which takes notice at once.
    "$ASHLAR" -s "$scratch/limits" user limit carl --bytes 100000
    $python "$here/users_attacks.py" "$server_address" limits_of_a_user
    stop_server
}

case_the_command_needs_no_password() {
    start_server "$scratch/owner"
    $python "$here/users.py" "$server_address" the_command_beside
    echo hello >"$scratch/hello"
    "$ASHLAR" -s "$scratch/owner" put "$scratch/hello" hello
    [ "$("$ASHLAR" -s "$scratch/owner" cat hello)" = hello ]
    expect_status 9 "$ASHLAR" -s "mongodb://$server_address/" ls
    "$ASHLAR" -s "mongodb://root:pencil@$server_address/?authSource=admin" ls
    stop_server
}

run_cases
