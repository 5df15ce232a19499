#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All that is asked of Debian's rclone, of the newest one.  It is upstream's module as it is, with a main package that has WebDAV's
# backend and the commands that are tried here: all the clouds' would take many minutes to build.
# usage: ASHLAR=… rclone_newest.sh   (modules and objects go to $ASH_GO_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/driver.sh"
. "$here/go.sh"

new_go
fetch_modules rclone
mkdir -p "$go_folder/made"
(cd "$here/rclone" && "$go" build -p 2 -o "$go_folder/made/rclone" .) || exit 1
export RCLONE="$go_folder/made/rclone"

case_is_the_newest() {
    [ "$("$RCLONE" version | head -n 1)" = "rclone $(sed -n 's|^require github.com/rclone/rclone ||p' "$here/rclone/go.mod")-DEV" ]
}

# Cases of a script that is for Debian's; what is skipped there is, here too.
passes() { # SCRIPT CASE…
    script=$1
    shift
    sh "$here/$script" "$@" >"$scratch/log" 2>&1 || {
        sed 's/^/# /' "$scratch/log" >&2
        return 1
    }
    reason=$(sed -n 's/.*# SKIP //p' "$scratch/log")
    [ -z "$reason" ] || skip "$reason"
}

case_other() {
    passes rclone.sh case_other case_moves_and_removals case_long_listings case_reads_a_part case_the_store_is_whole
}

case_owncloud() {
    passes rclone.sh case_owncloud case_the_store_is_whole
}

case_nextcloud() {
    passes rclone.sh case_nextcloud case_the_store_is_whole
}

case_mounted() {
    passes rclone.sh case_mounted case_the_store_is_whole
}

case_with_users() {
    passes users_http.sh case_rclone
}

case_by_https() {
    passes users_http.sh case_rclone_by_https
}

run_cases
