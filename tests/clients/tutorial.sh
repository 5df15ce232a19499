#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/TUTORIAL.md, block by block, typed into an unmodified mongosh and into Python with pymongo.
# usage: ASHLAR=… TUTORIAL=docs/TUTORIAL.md tutorial.sh   (mongosh goes to $ASH_MONGOSH_FOLDER, default: a scratch folder)
clients=$(cd "$(dirname "$0")" && pwd)
. "$clients/../lib.sh"
here=$clients/tutorial
node_folder=${ASH_MONGOSH_FOLDER:-$scratch/mongosh}
ASH_NODE_FOLDER=$node_folder
# The newest line of mongosh that Debian 12's Node.js runs; the override keeps a plugin for logging in, which would need a later
# one, at the release of mongosh's own time.
. "$clients/node.sh"
. "$clients/mongosh.sh"
python=/usr/bin/python3
[ -x $python ] || python=python3

start_server "$scratch/store" || exit 1
uri="mongodb://$server_address/library"

mkdir -p "$scratch/programs"

case_every_block_does_what_the_page_says() {
    node "$here/extract.js" "${TUTORIAL:?}" "$scratch/programs"
    number=1
    while program=$(ls "$scratch/programs/$number".* 2>/dev/null); do
        case "$program" in
        *.js) run_mongosh "$uri" --file "$program" || result=$? ;;
        *.py) $python "$here/run_python.py" "$uri" "$program" >"$scratch/out" 2>&1 || result=$? ;;
        esac
        sed 's/^#* */# /' "$scratch/out" >&2
        [ "${result:-0}" = 0 ]
        number=$((number + 1))
    done
    [ $number -gt 2 ]
}

case_32_clients_never_check_out_more_than_there_is() {
    $python "$here/compete.py" "$uri"
}

case_the_store_is_clean_afterwards() {
    stop_server
    "$ASHLAR" -s "$scratch/store" check
}

run_cases
