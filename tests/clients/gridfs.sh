#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unmodified drivers do all of GridFS on `ashlar serve`, and what one uploads all others read: pymongo and libmongoc.
# (gridfs_node.sh does the same with npm mongodb, other_drivers.sh with the rest.)
# usage: ASHLAR=… LIBMONGOC_GRIDFS=… gridfs.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
size=67108864
python=/usr/bin/python3
[ -x $python ] || python=python3

start_server "$scratch/store" || exit 1
uri="mongodb://$server_address/"

client() { # NAME ACTION FILE SIZE
    case "$1" in
    pymongo) $python "$here/pymongo_gridfs.py" "$uri" "$2" "$3" "$4" ;;
    libmongoc) "$LIBMONGOC_GRIDFS" "$uri" "$2" "$3" "$4" ;;
    esac
}

case_pymongo_does_everything() {
    client pymongo all "everything by pymongo" $size
}

case_libmongoc_does_everything() {
    client libmongoc all "everything by libmongoc" $size
}

crosswise() { # UPLOADER
    file="from $1"
    client "$1" upload "$file" $size
    expected=$(client pymongo verify "$file" $size)
    client libmongoc verify "$file" $size >/dev/null
    "$ASHLAR" -s "$scratch/store" get "$file" "$scratch/copy"
    [ "$(sha256sum <"$scratch/copy" | cut -d' ' -f1)" = "$expected" ]
    [ "$("$ASHLAR" -s "$scratch/store" sum "$file" | cut -d' ' -f1)" = "$expected" ]
}

case_all_read_what_pymongo_uploads() {
    crosswise pymongo
}

case_all_read_what_libmongoc_uploads() {
    crosswise libmongoc
}

case_all_read_what_the_command_puts() {
    client pymongo upload seed $size
    "$ASHLAR" -s "$scratch/store" get seed "$scratch/seed"
    "$ASHLAR" -s "$scratch/store" rm seed
    "$ASHLAR" -s "$scratch/store" put "$scratch/seed" seed
    client pymongo verify seed $size >/dev/null
    client libmongoc verify seed $size >/dev/null
}

case_store_is_clean_afterwards() {
    "$ASHLAR" -s "$scratch/store" check
    stop_server
    "$ASHLAR" -s "$scratch/store" check
}

run_cases
