#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Install what Ashlar needs from Debian's packages, if it is missing.
#
# usage: tools/deps.sh build|test|clients|check
#
# Does nothing when all is there.  Installs as root or through sudo; otherwise says which line to type.
set -eu

build="gcc libc6-dev meson ninja-build pkg-config python3 libbson-dev libmongoc-dev libnats-dev liblmdb-dev
  libssl-dev libxxhash-dev libzstd-dev zlib1g-dev libsnappy-dev libpcre2-dev libicu-dev
  libintelrdfpmath-dev libexpat1-dev libarchive-dev"
# What everybody who types `make test` has to fetch: keep it small.
test="$build libcmocka-dev g++ python3-pymongo python3-gridfs groff-base nats-server"
# Other people's languages and their drivers.
clients="$test nodejs npm faketime golang-go golang-mongodb-mongo-driver-dev php-cli php-mongodb
  libmongodb-perl ruby ruby-mongo python3-venv maven default-jdk-headless rustc-web cargo-web debootstrap chromium litmus rclone curl prometheus
  cadaver davfs2 gvfs-backends libglib2.0-bin dbus-daemon libreoffice-writer-nogui python3-uno procps
  gocryptfs sslscan testssl.sh"
check="$test git clang libclang-rt-14-dev clang-format spin"

case "${1:-}" in
build) wanted=$build ;;
test) wanted=$test ;;
clients) wanted=$clients ;;
check) wanted=$check ;;
*)
    echo "usage: tools/deps.sh build|test|clients|check" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "This is not a Debian system, so nothing was installed. Ashlar needs the equivalents of:" $wanted >&2
    exit 0
fi

missing=
for package in $wanted; do
    case "$package" in
    # One that somebody installed by other means serves as well.
    nodejs) command -v node >/dev/null 2>&1 && continue ;;
    maven) command -v mvn >/dev/null 2>&1 && continue ;;
    default-jdk-headless) command -v javac >/dev/null 2>&1 && continue ;;
    # Debian 12 has two; the one called cargo is too old for the driver.
    rustc-web | cargo-web) command -v cargo >/dev/null 2>&1 && continue ;;
    npm) command -v npm >/dev/null 2>&1 && continue ;;
    esac
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

line="apt-get update && apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    echo "Some packages are missing, and this account may not install them. As root, type:" >&2
    echo "  $line" >&2
    exit 1
fi
echo "Installing missing packages:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -q >&2
$as_root apt-get install -y -q --no-install-recommends $missing >&2
