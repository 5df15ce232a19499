#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What it costs to have a store in a folder that gocryptfs encrypts, beside a store in a plain folder of the same disk.
#
# usage: bench/encrypted.sh [BUILD]     environment: RUNS (5), MIB (256), FILES (2000), PLACE (BUILD/bench-space)
#
# Prints for each figure the median times of both and plain over encrypted: below 1 is what encryption costs.  The two take turns.
set -euo pipefail
build=$(cd "${1:-build}" && pwd)
runs=${RUNS:-5} mib=${MIB:-256} files=${FILES:-2000}
mkdir -p "${PLACE:-$build/bench-space}"
space=$(cd "${PLACE:-$build/bench-space}" && mktemp -d "$PWD/encrypted.XXXXXX")
trap 'fusermount -u "$space/encrypted" 2>/dev/null; rm -rf "$space"' EXIT
mkdir "$space"/{cipher,encrypted,plain,small}
echo password >"$space/password"
gocryptfs -init -q -nosyslog -passfile "$space/password" "$space/cipher"
gocryptfs -q -nosyslog -passfile "$space/password" "$space/cipher" "$space/encrypted"
head -c $((mib << 20)) /dev/urandom >"$space/large"
for i in $(seq "$files"); do head -c 4096 /dev/urandom >"$space/small/$i"; done

# timed FIGURE WHERE COMMAND…
timed() {
    local figure=$1 where=$2 begin end
    shift 2
    begin=$(date +%s%N)
    "$build/ashlar" -s "$space/$where/store" "$@" >"$space/out" 2>&1 || { cat "$space/out" >&2; exit 1; }
    end=$(date +%s%N)
    echo "$((end - begin))" >>"$space/$figure.$where"
}

for run in $(seq "$runs"); do
    order="plain encrypted"
    [ $((run % 2)) = 1 ] || order="encrypted plain"
    for where in $order; do
        rm -rf "$space/$where/store"
        timed large_put "$where" tree put "$space/large" /large
        timed large_get "$where" tree get /large "$space/back.$where"
        timed small_put "$where" tree put -r "$space/small" /small
        timed small_get "$where" tree get -r /small "$space/small.$where"
        timed check "$where" check
        rm -rf "$space/back.$where" "$space/small.$where"
    done
done
median() { sort -n "$1" | sed -n "$(((runs + 1) / 2))p"; }
echo "figure,plain_ms,encrypted_ms,plain/encrypted"
for figure in large_put large_get small_put small_get check; do
    p=$(median "$space/$figure.plain") e=$(median "$space/$figure.encrypted")
    awk -v f=$figure -v p="$p" -v e="$e" 'BEGIN { printf "%s,%.0f,%.0f,%.2f\n", f, p / 1e6, e / 1e6, p / e }'
done
