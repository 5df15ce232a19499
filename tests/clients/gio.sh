#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# GNOME's file manager asks through gvfs; gio, unmodified, asks the same without a screen.
# usage: ASHLAR=… gio.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/web.sh"
command -v gio >/dev/null && command -v dbus-run-session >/dev/null || skip_all 'no gio'
[ -x /usr/libexec/gvfsd-dav ] || [ -x /usr/lib/gvfs/gvfsd-dav ] || skip_all 'no gvfs-backends'
start_web || exit 1
dav=dav://${http#http://}

# session COMMANDS: in a session of a desktop with the share mounted as $dav.
session() {
    mkdir -p "$scratch/home" "$scratch/run"
    chmod 700 "$scratch/run"
    printf '%s\n' "$1" >"$scratch/commands"
    env -u DBUS_SESSION_BUS_ADDRESS HOME="$scratch/home" XDG_RUNTIME_DIR="$scratch/run" XDG_DATA_HOME="$scratch/home/data" \
        GVFS_DISABLE_FUSE=1 GIO_USE_VOLUME_MONITOR=unix dav="$dav" password="${password:-}" scratch="$scratch" timeout 100 dbus-run-session -- sh -eu -c '
        printf "%s\n" "$password" | gio mount "$dav/"
        . "$scratch/commands"
        gio mount -u "$dav/"' 2>"$scratch/session" || {
        sed 's/^/# /' "$scratch/session" >&2
        return 1
    }
}

case_files() {
    printf one >"$scratch/one"
    head -c 1000000 /dev/urandom >"$scratch/large"
    session '
        gio mkdir "$dav/folder"
        gio copy "$scratch/one" "$dav/folder/ümläut &.txt"
        gio copy "$scratch/large" "$dav/folder/large"
        gio list "$dav/folder" | sort >"$scratch/list"
        gio cat "$dav/folder/large" >"$scratch/got"
        gio info -a standard::size,standard::type "$dav/folder/large" >"$scratch/info"'
    [ "$(tr '\n' , <"$scratch/list")" = 'large,ümläut &.txt,' ]
    cmp "$scratch/large" "$scratch/got"
    grep -q 'standard::size: 1000000' "$scratch/info"
    [ "$(curl -sSf "$http/folder/%C3%BCml%C3%A4ut%20&.txt")" = one ]
}

case_changes() {
    session '
        gio move "$dav/folder/large" "$dav/moved"
        gio rename "$dav/moved" renamed
        printf two | gio save "$dav/folder/saved"
        printf three | gio save "$dav/folder/saved"
        gio copy "$dav/folder/saved" "$dav/copy"
        gio remove "$dav/folder/ümläut &.txt"'
    curl -sSf "$http/renamed" | cmp - "$scratch/large"
    [ "$(curl -sSf "$http/folder/saved")" = three ]
    [ "$(curl -sSf "$http/copy")" = three ]
    [ "$(curl -s -o "$scratch/gone" -w '%{http_code}' "$http/moved")" = 404 ]
    [ "$(curl -s -o "$scratch/gone" -w '%{http_code}' "$http/folder/%C3%BCml%C3%A4ut%20&.txt")" = 404 ]
}

case_room_is_told() {
    session 'gio info -f "$dav/" >"$scratch/info"'
    grep -q 'filesystem::free: [1-9]' "$scratch/info"
}

case_the_store_is_whole() {
    expect_sound
}

# On a store of its own, since the other one asks nobody who he is.
case_a_password() {
    echo pencil | "$ASHLAR" -s "$scratch/users" user add ann --role readWrite@test
    start_server "$scratch/users" --http 127.0.0.1:0
    tries=0
    until http=$(sed -n 's|^\(http://[^/]*\)/.*|\1|p' "$scratch/server.out" | grep .); do
        tries=$((tries + 1))
        [ $tries -lt 100 ]
        sleep 0.1
    done
    dav=dav://ann@${http#http://}
    printf one >"$scratch/one"
    password=pencil
    session 'gio copy "$scratch/one" "$dav/one"'
    [ "$(curl -sSf -u ann:pencil "$http/one")" = one ]
    password=wrong
    fails session 'gio copy "$scratch/one" "$dav/two"' 2>"$scratch/err"
    grep -q Unauthorized "$scratch/err"
    [ "$(curl -s -o "$scratch/gone" -w '%{http_code}' -u ann:pencil "$http/two")" = 404 ]
    stop_server
}

run_cases
