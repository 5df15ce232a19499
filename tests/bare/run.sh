#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prove the README's two commands on a bare machine: a fresh Debian 12 root made by debootstrap, with nothing in it but make.
#
# usage: tests/bare/run.sh [FOLDER]     (as root; FOLDER keeps the root for another try)
#
# Runs `make run` (and puts a file through the server it starts) and `make test` on a clean clone of this repository's HEAD.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
root=${1:-$(mktemp -d)/root}
mirror=$(sed -n 's/^URIs: *\(.*debian\)$/\1/p; s/^deb \(\[.*\] \)\?\([^ ]*\/debian\) bookworm .*/\2/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)

[ "$(id -u)" = 0 ] || { echo "needs root, for debootstrap and chroot" >&2; exit 1; }
# What is mounted below is seen by this script alone and ends with it, so that nobody who removes the root removes devices.
if [ -z "${ASH_BARE_MOUNTS-}" ]; then
    ASH_BARE_MOUNTS=private exec unshare --mount --propagation private sh "$0" "$@"
fi
[ -d "$root/usr" ] || debootstrap --variant=minbase --include=make,ca-certificates bookworm "$root" "$mirror"

mkdir -p "$root/dev/shm"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t sysfs sys "$root/sys" 2>/dev/null || true
cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
# The machine's own ways to reach its package sources, whatever they are.
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
if ls /usr/local/share/ca-certificates/*.crt >/dev/null 2>&1; then
    cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
    chroot "$root" update-ca-certificates >/dev/null 2>&1
fi
if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
    cp "$NODE_EXTRA_CA_CERTS" "$root/etc/ssl/certs/machine.pem"
fi
[ -f "$HOME/.npmrc" ] && cp "$HOME/.npmrc" "$root/root/"

rm -rf "$root/root/ashlar"
git clone -q "$here" "$root/root/ashlar"
rm -rf "$root/root/ashlar/.git/objects/info/alternates"

inside() {
    chroot "$root" /usr/bin/env -i ${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS=/etc/ssl/certs/machine.pem} HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 sh -ec "cd /root/ashlar; $1"
}

echo "== make run"
inside '
make run ADDRESS=127.0.0.1:27999 >run.log 2>&1 &
make=$!
tries=0
until grep -q "^mongodb://127.0.0.1:27999" run.log; do
    tries=$((tries + 1))
    [ $tries -lt 900 ] && kill -0 $make || { tail -n 40 run.log; exit 1; }
    sleep 1
done
build/ashlar put README.md
build/ashlar ls -l
build/ashlar get README.md copy.md
cmp README.md copy.md
kill $(cat "$HOME/.local/share/ashlar/lock" 2>/dev/null | head -n 1) 2>/dev/null || pkill ashlar || true
wait || true
echo "make run works"
'
echo "== make test"
inside 'make test >test.log 2>&1 || { tail -n 60 test.log; exit 1; }; tail -n 1 test.log'
