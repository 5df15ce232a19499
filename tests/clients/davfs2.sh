#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# davfs2, unmodified: the share as a folder of this machine.  Needs root and /dev/fuse.
# usage: ASHLAR=… davfs2.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/web.sh"
. "$here/mounted.sh"
lacks=$(lacks_davfs2)
[ -z "$lacks" ] || skip_all "$lacks"
start_web || exit 1
can_mount || skip_all 'davfs2 cannot mount here'

# By name: davfs2 1.6.1 cannot list folders with some kernels.
case_files() {
    head -c 2000000 /dev/urandom >"$scratch/large"
    mounted '
        echo one >one
        cp "$SCRATCH/large" "a large one"
        mkdir -p folder/below
        echo two >"folder/below/ümläut"
        echo more >>one
        : >empty'
    [ "$(curl -sSf "$http/one")" = "$(printf 'one\nmore')" ]
    curl -sSf "$http/a%20large%20one" | cmp - "$scratch/large"
    [ "$(curl -sSf "$http/folder/below/%C3%BCml%C3%A4ut")" = two ]
    [ "$(curl -sSf -o "$scratch/empty" -w '%{http_code} %{size_download}' "$http/empty")" = '200 0' ]
}

case_changes() {
    mounted '
        mv one two
        mv folder elsewhere
        cp elsewhere/below/ümläut copy
        rm "a large one"
        echo three >two'
    [ "$(curl -sSf "$http/two")" = three ]
    [ "$(curl -sSf "$http/elsewhere/below/%C3%BCml%C3%A4ut")" = two ]
    [ "$(curl -sSf "$http/copy")" = two ]
    [ "$(curl -s -o "$scratch/gone" -w '%{http_code}' "$http/one")" = 404 ]
    [ "$(curl -s -o "$scratch/gone" -w '%{http_code}' "$http/a%20large%20one")" = 404 ]
}

case_reads_what_others_wrote() {
    printf 'by curl' >"$scratch/other"
    curl -sSf -T "$scratch/other" "$http/by-curl"
    mounted '
        [ "$(cat by-curl)" = "by curl" ]
        [ "$(stat -c %s by-curl)" = 7 ]
        # How much room there is comes from the server, and is no number that davfs2 makes up.
        df -P . >"$SCRATCH/df"'
    said=$(curl -sSf -X PROPFIND -H 'Depth: 0' --data '<propfind xmlns="DAV:"><prop><quota-available-bytes/></prop></propfind>' "$http/" |
        sed -n 's/.*available-bytes>\([0-9][0-9]*\)<.*/\1/p')
    df=$(awk 'NR == 2 { print $4 }' "$scratch/df")
    # Others write on this disk, too.
    awk -v said="$said" -v df="$df" 'BEGIN { d = said / 1024 - df; exit !(d * d < (said / 10240) ^ 2) }'
}

# No listing shows them: they are mounted by themselves.
case_versions_by_a_mount_of_their_own() {
    printf first >"$scratch/v"
    curl -sSf -T "$scratch/v" "$http/v"
    printf second >"$scratch/v"
    curl -sSf -T "$scratch/v" "$http/v"
    http=$http/.ashlar/versions
    mounted '
        [ "$(cat v/v1-v)" = first ]
        [ "$(cat v/v2-v)" = second ]'
}

# What davfs2 locked is free again, and nothing waits to be sent.
case_no_lock_is_left() {
    curl -sSf -X PROPFIND -H 'Depth: 1' --data '<propfind xmlns="DAV:"><prop><lockdiscovery/></prop></propfind>' "$http/" >"$scratch/locks"
    fails grep -q activelock "$scratch/locks"
    curl -sSf -T "$scratch/other" "$http/two"
}

case_the_store_is_whole() {
    expect_sound
}

run_cases
