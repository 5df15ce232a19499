#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unmodified drivers do what programs do every day: writes and reads, bulk writes, indexes, sessions, retried writes, change streams
# (also across a restart of the server), and every type of BSON byte for byte: pymongo and libmongoc.  (crud_others.sh: npm and Go.)
# usage: ASHLAR=… LIBMONGOC_CRUD=… crud.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/crud_common.sh"

case_pymongo_works_every_day() {
    client pymongo all
}

case_libmongoc_works_every_day() {
    client libmongoc all
}

case_every_type_comes_back_byte_for_byte() {
    client pymongo bytes >&2
}

case_streams_resume_after_restarts() {
    streams_resume pymongo libmongoc
}

case_open_streams_miss_nothing_over_restarts() {
    streams_miss_nothing pymongo
}

case_the_store_is_clean_afterwards() {
    end_server TERM
    "$ASHLAR" -s "$scratch/store" check
}

run_cases
