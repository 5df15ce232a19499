#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What crud.sh asks of pymongo and libmongoc, asked of npm mongodb and Go's driver.
# usage: ASHLAR=… crud_others.sh   (npm packages go to $ASH_NODE_FOLDER, Go's objects to $ASH_GO_FOLDER)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/node.sh"
. "$here/go_v1.sh"
. "$here/crud_common.sh"

case_node_works_every_day() {
    client node all
}

case_go_works_every_day() {
    build_go_v1
    client go all
}

case_streams_resume_after_restarts() {
    drivers=node
    [ ! -x "$go_v1" ] || drivers="$drivers go"
    # shellcheck disable=SC2086 # names without blanks
    streams_resume $drivers
}

case_open_streams_miss_nothing_over_restarts() {
    streams_miss_nothing node
}

case_the_store_is_clean_afterwards() {
    end_server TERM
    "$ASHLAR" -s "$scratch/store" check
}

run_cases
