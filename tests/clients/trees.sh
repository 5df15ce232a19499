#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A database of v7files through pymongo: written by it, written on by Ashlar (TREE_WRITER), read by pymongo's GridFS again.
# usage: ASHLAR=… TREE_WRITER=… trees.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
python=/usr/bin/python3
[ -x $python ] || python=python3

start_server "$scratch/store" || exit 1
uri="mongodb://$server_address/"

case_what_v7files_left() {
    $python "$here/trees.py" "$uri" fill old
    $python "$here/trees.py" "$uri" expect old | grep -qx '7 contents'
}

# Through the server, as another process: new files of every form, a new version, a move, a deletion.
case_what_ashlar_wrote_on() {
    "${TREE_WRITER:?}" "$uri" old
    $python "$here/trees.py" "$uri" expect old | grep -qx '11 contents'
}

case_the_store_is_whole() {
    "$ASHLAR" -s "$scratch/store" check
}

run_cases
