#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The newest pymongo and its asynchronous interface, from Python's package index.
# usage: ASHLAR=… new_pymongo.sh   (a virtual environment in $ASH_PYMONGO_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/driver.sh"
folder=${ASH_PYMONGO_FOLDER:-$scratch/pymongo}

$python -c 'import ensurepip' 2>/dev/null || skip_all "venv is not installed (Debian: python3-venv)"
fetch "$folder" "$here/pymongo.txt" -- sh -ec '"$1" -m venv --clear venv; venv/bin/pip install -q -r "$2"' sh $python "$here/pymongo.txt"
start_for_driver

gridfs() {
    "$folder/venv/bin/python" "$here/pymongo_gridfs.py" "$uri" "$@"
}

crud() {
    "$folder/venv/bin/python" "$here/pymongo_crud.py" "$uri" "$@"
}

interface=sync
users() {
    "$folder/venv/bin/python" "$here/pymongo_users.py" "$uri" $interface "$@"
}

# The same by the asynchronous interface.
by_async() {
    interface=async
    gridfs() { "$folder/venv/bin/python" "$here/pymongo_async.py" "$uri" gridfs "$@"; }
    crud() { "$folder/venv/bin/python" "$here/pymongo_async.py" "$uri" crud "$@"; }
}

case_gridfs() {
    does_gridfs
}

case_every_day() {
    crud all -
}

case_every_type_comes_back_byte_for_byte() {
    crud bytes -
}

case_streams_resume_after_restarts() {
    resumes_after_restarts
}

case_asynchronous_gridfs() {
    by_async
    does_gridfs
}

case_asynchronous_every_day() {
    by_async
    crud all -
}

case_asynchronous_streams_resume_after_restarts() {
    by_async
    resumes_after_restarts
}

case_store_is_clean_afterwards() {
    leaves_a_clean_store
}

case_users_sign_in() {
    signs_in
}

case_users_sign_in_over_tls() {
    signs_in_over_tls
}

case_asynchronous_users_sign_in() {
    by_async
    signs_in
}

case_asynchronous_users_sign_in_over_tls() {
    by_async
    signs_in_over_tls
}

run_cases
