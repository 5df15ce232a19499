#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rclone, unmodified, as a client of WebDAV, with each vendor that it knows of servers like this one.
# usage: ASHLAR=… [RCLONE=PROGRAM] rclone.sh [CASE…]
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/web.sh"
rclone=${RCLONE:-rclone}
command -v "$rclone" >/dev/null || skip_all 'no rclone'
start_web --http-log "$scratch/http.log" || exit 1
# Chunks as Nextcloud has them go to a place of its own (/dav/uploads); newer ones refuse any other address unless they are told not to.
export HOME="$scratch"
cat >"$scratch/rclone.conf" <<END
[other]
type = webdav
url = $http
vendor = other
[owncloud]
type = webdav
url = $http
vendor = owncloud
[nextcloud]
type = webdav
url = $http
vendor = nextcloud
nextcloud_chunk_size = 0
END

ask() { # ARGUMENT…
    "$rclone" --config "$scratch/rclone.conf" --retries 1 --low-level-retries 1 "$@"
}

# Names and sizes that go wrong with somebody: blanks, what URLs and XML escape, other scripts, nothing, several chunks.
make_files() { # FOLDER
    mkdir -p "$1/in/deep/down" "$1/a & b"
    : >"$1/empty"
    printf 'one' >"$1/in/ümläut %41 #?.txt"
    printf 'two' >"$1/a & b/<c> \"d\" 'e'"
    printf 'three' >"$1/in/deep/down/日本語"
    head -c 3000000 /dev/urandom >"$1/large"
    i=0
    while [ $i -lt 40 ]; do
        echo "$i" >"$1/in/file $i"
        i=$((i + 1))
    done
    touch -d '2001-02-03T04:05:06Z' "$1/large" "$1/in/deep/down/日本語"
}

# There, checked, back, the same.
there_and_back() { # VENDOR
    make_files "$scratch/$1"
    ask sync "$scratch/$1" "$1:$1"
    ask check "$scratch/$1" "$1:$1"
    ask check --download "$scratch/$1" "$1:$1"
    ask copy "$1:$1" "$scratch/$1.back"
    diff -r "$scratch/$1" "$scratch/$1.back"
    # A second time there is nothing to do.
    ask sync -v --stats-one-line "$scratch/$1" "$1:$1" 2>"$scratch/again"
    fails grep -q Copied "$scratch/again"
    # What is gone here goes there.
    rm -r "$scratch/$1/in"
    printf 'more' >>"$scratch/$1/large"
    ask sync "$scratch/$1" "$1:$1"
    ask check "$scratch/$1" "$1:$1"
    [ "$(ask lsf "$1:$1" | wc -l)" = 3 ]
}

case_other() {
    there_and_back other
}

case_owncloud() {
    there_and_back owncloud
    # Times go along, and so do digests.
    [ "$(TZ=UTC ask lsf --format t owncloud:owncloud/empty)" = "$(date -u -r "$scratch/owncloud/empty" '+%Y-%m-%d %H:%M:%S')" ]
    [ "$(date -u -r "$scratch/owncloud.back/large" +%s)" = 981173106 ]
}

case_nextcloud() {
    there_and_back nextcloud
    [ "$(date -u -r "$scratch/nextcloud.back/large" +%s)" = 981173106 ]
    ask hashsum sha1 nextcloud:nextcloud/empty >/dev/null
}

# As a folder of this machine, in a namespace of its own; what it has not sent yet goes before it ends.
mounted() { # REMOTE COMMANDS
    mkdir -p "$scratch/mounted"
    REMOTE=$1 COMMANDS=$2 RCLONE=$rclone SCRATCH=$scratch timeout 120 unshare -m sh -eu -c '
        dir=$SCRATCH/mounted
        "$RCLONE" --config "$SCRATCH/rclone.conf" mount --vfs-cache-mode writes --vfs-write-back 0s --cache-dir "$SCRATCH/cache" "$REMOTE" "$dir" &
        pid=$!
        tries=0
        until grep -q " $dir fuse.rclone " /proc/self/mounts; do
            tries=$((tries + 1))
            [ $tries -lt 200 ]
            kill -0 $pid
            sleep 0.05
        done
        (cd "$dir" && eval "set -eu; $COMMANDS") && status=0 || status=$?
        kill $pid
        wait $pid || true
        exit $status'
}

case_mounted() {
    [ -c /dev/fuse ] || skip 'no /dev/fuse'
    [ "$(id -u)" = 0 ] && unshare -m true 2>"$scratch/unshare" || skip 'nobody but root may mount'
    command -v fusermount3 >"$scratch/found" || command -v fusermount >"$scratch/found" || skip 'no fusermount'
    head -c 3000000 /dev/urandom >"$scratch/big"
    for vendor in other owncloud nextcloud; do
        mounted "$vendor:" '
            mkdir "m & n"
            cp "$SCRATCH/big" "m & n/large"
            echo one >"m & n/ümläut"
            echo more >>"m & n/ümläut"
            : >empty
            [ "$(stat -c %s "m & n/large")" = 3000000 ]'
        mounted "$vendor:" '
            mv "m & n" "mounted '$vendor'"
            rm empty'
        mounted "$vendor:mounted $vendor" 'cmp large "$SCRATCH/big"'
        curl -sSf "$http/mounted%20$vendor/large" | cmp - "$scratch/big"
        [ "$(curl -sSf "$http/mounted%20$vendor/%C3%BCml%C3%A4ut")" = "$(printf 'one\nmore')" ]
        [ "$(curl -s -o "$scratch/gone" -w '%{http_code}' "$http/empty")" = 404 ]
        # None is left, here or in the namespace of before.
        fails grep -q "$scratch/mounted" /proc/mounts
    done
}

case_moves_and_removals() {
    mkdir "$scratch/m"
    echo one >"$scratch/m/one"
    ask copy "$scratch/m" other:m
    ask moveto other:m/one "other:m/two 2"
    ask copyto "other:m/two 2" other:m/three
    ask move other:m other:n
    [ "$(ask lsf other:n | sort | tr '\n' ,)" = 'three,two 2,' ]
    ask cat other:n/three | grep -qx one
    ask deletefile other:n/three
    ask purge other:n
    fails ask lsf other:n 2>"$scratch/none"
    ask about other: | grep -q '^Free:'
}

# It asks for gzip of itself, which far clients get; one that comes by a proxy is far.
case_long_listings() {
    mkdir "$scratch/many"
    i=0
    while [ $i -lt 400 ]; do
        echo >"$scratch/many/file number $i"
        i=$((i + 1))
    done
    ask copy "$scratch/many" other:many
    : >"$scratch/http.log"
    ask lsf other:many | sort >"$scratch/near"
    ask --header 'X-Forwarded-For: 192.0.2.1' lsf other:many | sort >"$scratch/far"
    [ "$(wc -l <"$scratch/near")" = 400 ]
    cmp "$scratch/near" "$scratch/far"
    # Of each listing the bytes that were sent.
    sed -n 's|.*"PROPFIND /many/ HTTP/1.1" 207 \([0-9]*\) .*|\1|p' "$scratch/http.log" | sort -n >"$scratch/bytes"
    [ $(($(head -n 1 "$scratch/bytes") * 5)) -lt "$(tail -n 1 "$scratch/bytes")" ]
}

case_reads_a_part() {
    printf 0123456789 >"$scratch/digits"
    ask copyto "$scratch/digits" other:digits
    [ "$(ask cat --offset 3 --count 4 other:digits)" = 3456 ]
}

case_the_store_is_whole() {
    expect_sound
}

run_cases "$@"
