#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The long crash run.  usage: tests/crash/run.sh [--build FOLDER] [--cuts N] [--kills N] [--flips N] [--seed N]
# Prints the seeds; the exit status is 0 when nothing was found.
set -eu
build=build cuts=10000 kills=1000 flips=10000 seed=$(date +%s)
while [ $# -gt 0 ]; do
    [ $# -gt 1 ] || { echo "$1 needs a value" >&2; exit 2; }
    case $1 in
    --build) build=$2 ;;
    --cuts) cuts=$2 ;;
    --kills) kills=$2 ;;
    --flips) flips=$2 ;;
    --seed) seed=$2 ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
    esac
    shift 2
done
cd "$(dirname "$0")/../.."
here=$(cd "$build/tests/crash" && pwd)
status=0
try() {
    echo "== $*"
    "$@" || status=1
}
recorded="--record $here/ash-record.so --workload $here/crash-workload"
# shellcheck disable=SC2086
{
    [ "$cuts" = 0 ] || try "$here/crash-cut" $recorded --cuts "$cuts" --per-run 50 --steps 60 --seed "$seed"
    try "$here/crash-cut" $recorded --cuts 200 --rule 1 --seed "$seed" 2>/dev/null
    try "$here/crash-cut" $recorded --cuts 200 --rule 2 --seed "$seed" 2>/dev/null
    try "$here/crash-cut" $recorded --cuts 200 --rule 3 --seed "$seed" 2>/dev/null
}
[ "$kills" = 0 ] || try "$here/crash-kill" --kills "$kills" --seed "$seed"
[ "$flips" = 0 ] || try "$here/crash-flip" --flips "$flips" --seed "$seed"
[ "$flips" = 0 ] || try "$here/crash-flip" --aim meta --flips "$flips" --seed "$seed" --ashlar "$here/../../ashlar"
ASH_FAULTS_ALL=1
export ASH_FAULTS_ALL
try "$here/../faults/faults-io"
ASH_FAULTS_JOURNAL=1 try "$here/../faults/faults-io"
try "$here/../faults/faults-store"
try "$here/crash-concurrent" --seconds 60 --seed "$seed"
exit $status
