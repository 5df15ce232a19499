#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A real tree goes in and comes out the same: at least 2,000 files and 256 MiB of what lies under /usr; in `make check`,
# which sets ASH_TREE=large, 10,000 files and 1 GiB.
. "$(dirname "$0")/../lib.sh"
tree=$scratch/tree
store=$scratch/store
least_files=2000
least_bytes=268435456
if [ "${ASH_TREE-}" = large ]; then
    least_files=10000
    least_bytes=1073741824
fi

measure() {
    files=$(find "$tree" -type f | wc -l)
    bytes=$(du -s --apparent-size -B1 "$tree" | cut -f1)
}

# Folders of /usr, smallest needed set first, until there is enough; then made-up files where a system is too small.
collect() {
    mkdir "$tree"
    for folder in include lib/gcc bin lib/x86_64-linux-gnu lib/python3 share/perl share/doc lib share; do
          [ -d "/usr/$folder" ] || continue
        mkdir -p "$tree/$folder"
        cp -r "/usr/$folder/." "$tree/$folder/" 2>/dev/null || true
        measure
        [ "$files" -ge $least_files ] && [ "$bytes" -ge $least_bytes ] && break
    done
    while [ "$bytes" -lt $least_bytes ]; do
        head -c 67108864 /dev/urandom >"$tree/made-$bytes"
        measure
    done
    # What cannot be read as a file has no content to keep: links to nowhere, to folders above, pipes.
    find "$tree" -type l -delete
    find "$tree" ! -type f ! -type d -delete
    touch "$tree/name with spaces" "$tree/quote'\"s"
    mkdir -p "$tree/empty folder/inside"
    ln -s include "$tree/link to folder" 2>/dev/null
    measure
    echo "# $files files, $bytes bytes"
}

case_tree_comes_out_the_same() {
    collect
    "$ASHLAR" -s "$store" put -r "$tree"
    "$ASHLAR" -s "$store" get -r . "$scratch/back"
    diff -r "$tree" "$scratch/back"
}

case_prefix_gets_a_part() {
    "$ASHLAR" -s "$store" get -r include/ "$scratch/part"
    diff -r "$tree/include" "$scratch/part/include"
    [ "$(ls "$scratch/part")" = include ]
}

case_store_is_clean() {
    "$ASHLAR" -s "$store" check
}

run_cases
