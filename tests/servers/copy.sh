#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `ashlar copy` between a folder and somebody else's server, both ways, and the everyday verbs on it.
# usage: ASHLAR=… copy.sh ferretdb|mongo-java-server
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/start.sh"

start_foreign "$1"
mkdir "$scratch/files"
$python - "$scratch/files" <<'END'
import random
import sys
for i, size in enumerate((0, 1, 1000, 261119, 261120, 261121, 3000000, 9000000)):
    with open(f"{sys.argv[1]}/{i}", "wb") as out:
        out.write(random.Random(i).randbytes(size))
END
"$ASHLAR" -s "$scratch/source" put "$scratch"/files/* >/dev/null || exit 1

digests() { # STORE
    "$ASHLAR" -s "$1" ls | while read -r name; do "$ASHLAR" -s "$1" sum "$name"; done
}

digests "$scratch/source" >"$scratch/digests"
[ "$(wc -l <"$scratch/digests")" = 8 ] || exit 1

case_from_a_folder_and_back() {
    "$ASHLAR" copy "$scratch/source" "$foreign_uri" | grep -q '^copied 8 files ([^)]*), 0 there already, 0 failed$'
    digests "$foreign_uri" | cmp - "$scratch/digests"
    "$ASHLAR" copy "$foreign_uri" "$scratch/back" | grep -q '^copied 8 files ([^)]*), 0 there already, 0 failed$'
    digests "$scratch/back" | cmp - "$scratch/digests"
    "$ASHLAR" -s "$scratch/back" check
}

case_again_copies_nothing() {
    "$ASHLAR" copy "$scratch/source" "$foreign_uri" | grep -q '^copied 0 files (0 B), 8 there already, 0 failed$'
    "$ASHLAR" copy "$foreign_uri" "$scratch/back" | grep -q '^copied 0 files (0 B), 8 there already, 0 failed$'
}

case_a_driver_reads_what_was_copied() {
    uri=$foreign_uri
    debian_pymongo upload seed $size
    "$ASHLAR" -s "$foreign_uri" get seed "$scratch/seed"
    "$ASHLAR" -s "$foreign_uri" rm seed
    "$ASHLAR" -s "$foreign_uri" put "$scratch/seed" seed
    debian_pymongo verify seed $size
}

# Its own options and indexes aside, which these servers know in part.
case_documents_both_ways() {
    $python - "$foreign_uri" <<'END'
import sys
import pymongo
with pymongo.MongoClient(sys.argv[1]) as client:
    client["documents"].things.insert_many([{"_id": i, "z": i, "a": ["x", {"y": None}]} for i in range(3000)])
    client["documents"].things.create_index("z", unique=True)
END
    "$ASHLAR" -d documents copy --all --verify "$foreign_uri" "$scratch/documents" | grep -qx 'copied 3000 documents of 1 collection, 0 replaced, 0 there already, 0 failed'
    "$ASHLAR" -s "$scratch/documents" check
    "$ASHLAR" -d documents copy --all --verify "$scratch/documents" "${foreign_uri}again" | grep -qx 'copied 3000 documents of 1 collection, 0 replaced, 0 there already, 0 failed'
    "$ASHLAR" -d documents copy --all "$scratch/documents" "${foreign_uri}again" | grep -qx 'copied 0 documents of 1 collection, 0 replaced, 3000 there already, 0 failed'
}

case_verbs() {
    echo hello >"$scratch/hello"
    "$ASHLAR" -s "$foreign_uri" put "$scratch/hello" greeting
    [ "$("$ASHLAR" -s "$foreign_uri" cat greeting)" = hello ]
    "$ASHLAR" -s "$foreign_uri" mv greeting 'another greeting'
    "$ASHLAR" -s "$foreign_uri" ls | grep -qx 'another greeting'
    expect_status 0 "$ASHLAR" -s "$foreign_uri" rm 'another greeting'
    "$ASHLAR" -s "$foreign_uri" ls | fails grep -q greeting
}

run_cases
