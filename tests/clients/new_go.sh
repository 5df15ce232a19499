#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mongo-go-driver v2.  usage: ASHLAR=… new_go.sh   (modules and objects go to $ASH_GO_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/driver.sh"
. "$here/go.sh"

new_go
fetch "$go_folder/driver" "$here/go/go.mod" "$here/go/go.sum" -- sh -ec 'cp "$1/go.mod" "$1/go.sum" . && "$2" mod download' sh "$here/go" "$go"
(cd "$here/go" && "$go" build -p 2 -o "$go_folder/client" .) || exit 1
start_for_driver

gridfs() {
    "$go_folder/client" "$uri" gridfs "$@"
}

crud() {
    "$go_folder/client" "$uri" crud "$@"
}

case_gridfs() {
    does_gridfs
}

case_every_day() {
    crud all -
}

case_streams_resume_after_restarts() {
    resumes_after_restarts
}

case_store_is_clean_afterwards() {
    leaves_a_clean_store
}

run_cases
