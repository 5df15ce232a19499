#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# npm mongodb, unmodified, does all of GridFS on `ashlar serve`; pymongo, libmongoc and the command read what it uploads, and it reads theirs.
# usage: ASHLAR=… LIBMONGOC_GRIDFS=… gridfs_node.sh   (npm packages go to $ASH_NODE_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/node.sh"
size=67108864
python=/usr/bin/python3
[ -x $python ] || python=python3

start_server "$scratch/store" || exit 1
uri="mongodb://$server_address/"

client() { # NAME ACTION FILE
    case "$1" in
    pymongo) $python "$here/pymongo_gridfs.py" "$uri" "$2" "$3" $size ;;
    node) run_node "$here/node_gridfs.js" "$uri" "$2" "$3" $size ;;
    libmongoc) "$LIBMONGOC_GRIDFS" "$uri" "$2" "$3" $size ;;
    esac
}

case_node_does_everything() {
    client node all "everything by node"
}

case_all_read_what_node_uploads() {
    client node upload "from node"
    expected=$(client pymongo verify "from node")
    client node verify "from node" >/dev/null
    client libmongoc verify "from node" >/dev/null
    "$ASHLAR" -s "$scratch/store" get "from node" "$scratch/copy"
    [ "$(sha256sum <"$scratch/copy" | cut -d' ' -f1)" = "$expected" ]
    [ "$("$ASHLAR" -s "$scratch/store" sum "from node" | cut -d' ' -f1)" = "$expected" ]
}

case_node_reads_what_the_others_upload() {
    client pymongo upload "from pymongo"
    client libmongoc upload "from libmongoc"
    client node verify "from pymongo" >/dev/null
    client node verify "from libmongoc" >/dev/null
    # The bytes belong to the name.
    "$ASHLAR" -s "$scratch/store" get "from pymongo" "$scratch/seed"
    "$ASHLAR" -s "$scratch/store" rm "from pymongo"
    "$ASHLAR" -s "$scratch/store" put "$scratch/seed" "from pymongo"
    client node verify "from pymongo" >/dev/null
}

case_store_is_clean_afterwards() {
    "$ASHLAR" -s "$scratch/store" check
    stop_server
    "$ASHLAR" -s "$scratch/store" check
}

run_cases
