#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 100 good clients alone, and beside 100,000 bad logins.
# usage: bench/logins.sh BUILD FOLDER [CLIENTS] [ATTEMPTS]     (ninja -C BUILD ashlar bench/ashlar-bench-logins)
set -eu
build=$1
folder=$2/logins
store=$folder/store
rm -rf "$folder"
mkdir -p "$folder"
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; rm -rf "$folder"' EXIT
echo bench-password | "$build/ashlar" -q -s "$store" user add bench --role root
"$build/ashlar" -q -s "$store" serve --mongo 127.0.0.1:0 >"$folder/out" 2>"$folder/err" &
pid=$!
tries=0
while ! grep -qs '^mongodb://' "$folder/out"; do
    tries=$((tries + 1))
    [ $tries -lt 200 ] || exit 1
    sleep 0.05
done
port=$(sed -n 's|^mongodb://127.0.0.1:\([0-9]*\)/.*|\1|p' "$folder/out")
"$build/bench/ashlar-bench-logins" "$port" bench bench-password "${3:-100}" "${4:-100000}"
echo "logins_log,ashlar,$(wc -l <"$folder/err"),lines"
echo "logins_memory,ashlar,$(sed -n 's/VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status"),KiB"
