#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mongo-go-driver v2.  usage: ASHLAR=… new_go.sh   (modules and objects go to $ASH_GO_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/driver.sh"
. "$here/go.sh"

new_go
fetch_modules go
(cd "$here/go" && "$go" build -p 2 -o "$go_folder/client" .) || exit 1
start_for_driver

driver() {
    "$go_folder/client" "$uri" "$@"
}

# It never tells the server what name its certificate has.
names_itself=no
run_driver_cases
