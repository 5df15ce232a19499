#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The README on a bare machine: a fresh Debian 12 root made by debootstrap, with nothing in it but make, in which its lines are typed.
#
# usage: tests/bare/run.sh [install|all] [FOLDER]     (as root; FOLDER keeps the root for another try)
#
# install: `make build`, then the C lines, which begin with `sudo make install`.  all: `make run`, with a file put through the server
# it starts, and `make test`, too.  On standard error: what is done; on standard output: minutes and what was downloaded.
# Exit status 77 when there is no making such a root here.
# The source is this folder as it stands, without what was built.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
what=${1:-install}
folder=${2:-}

say() {
    echo "$(date +%H:%M:%S) $*" >&2
}

# The mirror this machine fetches Debian from, in either format of its sources.
mirror() {
    sed -n 's/^URIs: *\([^ ]*\/debian\)\/* *$/\1/p; s/^deb \(\[.*\] \)\{0,1\}\([^ ]*\/debian\)\/* bookworm .*/\2/p' \
        /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1
}

# What is mounted is seen by the inner script alone and is gone when it ends, before anything is removed.
if [ -z "${ASH_BARE_ROOT-}" ]; then
    [ "$(id -u)" = 0 ] || { say "needs root, for debootstrap and chroot"; exit 77; }
    command -v debootstrap >/dev/null || { say "debootstrap is not installed"; exit 77; }
    [ -n "$(mirror)" ] || { say "no mirror of Debian in this machine's sources"; exit 77; }
    unshare --mount --propagation private true 2>/dev/null || { say "this account may not mount"; exit 77; }
    ASH_BARE_ROOT=${folder:-$(mktemp -d "${TMPDIR:-/var/tmp}/ashlar-bare.XXXXXX")}/root
    export ASH_BARE_ROOT
    mkdir -p "$ASH_BARE_ROOT"
    status=0
    unshare --mount --propagation private sh "$0" "$what" || status=$?
    [ -n "$folder" ] || rm -rf --one-file-system "${ASH_BARE_ROOT%/root}"
    exit $status
fi
root=$ASH_BARE_ROOT
trap '[ $? = 0 ] || say "ended early"' EXIT

make_root() {
    [ ! -x "$root/usr/bin/make" ] || return 0
    say "debootstrap"
    debootstrap --variant=minbase --include=make,ca-certificates bookworm "$root" "$(mirror)" >"$root.log" 2>&1 ||
        { tail -n 20 "$root.log" >&2; say "debootstrap failed"; exit 77; }
}

# Devices one by one in a folder of their own: nothing done to the root reaches the machine's.
mount_into() {
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    mkdir "$root/dev/shm" "$root/dev/pts"
    mount -t tmpfs tmpfs "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts" # for tests that type as at a terminal
    ln -s pts/ptmx "$root/dev/ptmx"
    for device in null zero full random urandom tty; do
        : >"$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    ln -s /proc/self/fd "$root/dev/fd"
    for number in 0 1 2; do
        ln -s "/proc/self/fd/$number" "$root/dev/$(echo stdin stdout stderr | cut -d' ' -f$((number + 1)))"
    done
}

# The machine's own ways to reach its package sources, whatever they are.
copy_ways() {
    cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
    cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
    if ls /usr/local/share/ca-certificates/*.crt >/dev/null 2>&1; then
        cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
        chroot "$root" update-ca-certificates >/dev/null 2>&1
    fi
    # So that what was downloaded can be weighed.
    echo 'Binary::apt::APT::Keep-Downloaded-Packages "true"; APT::Keep-Downloaded-Packages "true";' >"$root/etc/apt/apt.conf.d/99keep"
    rm -f "$root/etc/apt/apt.conf.d/docker-clean"
    chroot "$root" apt-get clean
}

copy_source() {
    rm -rf "$root/root/ashlar"
    mkdir -p "$root/root/ashlar"
    tar -C "$here" --exclude='./build*' --exclude=./.git -cf - . | tar -C "$root/root/ashlar" -xf -
}

# inside COMMANDS: typed by a newcomer, who has no sudo and needs none.
inside() {
    chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} ${no_proxy:+no_proxy="$no_proxy"} \
        ${ASH_TIMEOUT_FACTOR:+ASH_TIMEOUT_FACTOR="$ASH_TIMEOUT_FACTOR"} sh -ec "sudo() { \"\$@\"; }; cd /root/ashlar; $1"
}

# timed NAME COMMANDS: shows the end of what they said when they fail.
timed() {
    say "$1"
    began=$(date +%s)
    if ! inside "$2" >"$root.log" 2>&1; then
        echo "$1 failed:" >&2
        tail -n 60 "$root.log" >&2
        exit 1
    fi
    took=$(($(date +%s) - began))
    echo "$1: $((took / 60)) min $((took % 60)) s; packages so far: $(du -cm "$root"/var/cache/apt/archives/*.deb 2>/dev/null |
        tail -n 1 | cut -f1) MB; the system takes $(du -sxm --exclude=./root --exclude=./var/cache --exclude=./var/lib/apt "$root" | cut -f1) MB"
}

c_lines() {
    . "$here/tests/block.sh"
    block "$here/README.md" c 1 >"$root/root/ashlar/keep.c"
    block "$here/README.md" sh 3 >"$root/root/ashlar/lines.sh"
    grep -q '^sudo make install && sudo ldconfig' "$root/root/ashlar/lines.sh" || { say "the README has other lines"; exit 1; }
    timed "the README's C lines" '. ./lines.sh >said; cat said; [ "$(tail -n 1 said)" = hello ]; man=/usr/local/share/man/man1/ashlar.1; [ -s $man ]'
}

make_run() {
    timed "make run" '
        make run ADDRESS=127.0.0.1:27999 >run.log 2>&1 &
        make=$!
        tries=0
        until grep -q "^mongodb://127.0.0.1:27999" run.log; do
            tries=$((tries + 1))
            [ $tries -lt 1800 ] && kill -0 $make || { tail -n 40 run.log; exit 1; }
            sleep 1
        done
        build/ashlar put README.md
        build/ashlar get README.md copy.md
        cmp README.md copy.md
        for process in /proc/[0-9]*; do
            if [ "$(readlink $process/exe)" = /root/ashlar/build/ashlar ]; then kill ${process#/proc/}; fi
        done
        wait $make || true'
}

make_root
mount_into
copy_ways
copy_source
case "$what" in
install)
    timed "make build" 'make build'
    c_lines
    ;;
all)
    make_run
    timed "make test" 'make test'
    tail -n 1 "$root.log"
    c_lines
    ;;
*)
    echo "usage: tests/bare/run.sh [install|all] [FOLDER]" >&2
    exit 2
    ;;
esac
