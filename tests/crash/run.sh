#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The long crash run.  usage: tests/crash/run.sh [--build FOLDER] [--cuts N] [--kills N] [--flips N] [--seed N]
#                              [--contend SECONDS]
# Prints the seeds; the exit status is 0 when nothing was found.
set -eu
build=build cuts=10000 kills=1000 flips=10000 contend=600 seed=$(date +%s)
while [ $# -gt 0 ]; do
    [ $# -gt 1 ] || { echo "$1 needs a value" >&2; exit 2; }
    case $1 in
    --build) build=$2 ;;
    --cuts) cuts=$2 ;;
    --kills) kills=$2 ;;
    --flips) flips=$2 ;;
    --seed) seed=$2 ;;
    --contend) contend=$2 ;;
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
recorded_tree="--record $here/ash-record.so --workload $here/crash-tree-workload"
recorded_object="--record $here/ash-record.so --workload $here/crash-object-workload"
recorded_door="--record $here/ash-record.so --workload $here/crash-door-workload"
recorded_web="--record $here/ash-record.so --workload $here/crash-web-workload"
# shellcheck disable=SC2086
{
    [ "$cuts" = 0 ] || try "$here/crash-cut" $recorded --cuts "$cuts" --per-run 50 --steps 60 --seed "$seed"
    [ "$cuts" = 0 ] || try "$here/crash-tree-cut" $recorded_tree --cuts "$cuts" --per-run 50 --steps 120 --seed "$seed"
    [ "$cuts" = 0 ] || try "$here/crash-object-cut" $recorded_object --cuts "$cuts" --per-run 50 --steps 120 --seed "$seed"
    [ "$cuts" = 0 ] || try "$here/crash-door-cut" $recorded_door --cuts "$cuts" --per-run 50 --steps 120 --seed "$seed"
    [ "$cuts" = 0 ] || try "$here/crash-web-cut" $recorded_web --cuts "$cuts" --per-run 50 --steps 120 --seed "$seed"
    try "$here/crash-cut" $recorded --cuts 200 --rule 1 --seed "$seed" 2>/dev/null
    try "$here/crash-cut" $recorded --cuts 200 --rule 2 --seed "$seed" 2>/dev/null
    try "$here/crash-cut" $recorded --cuts 200 --rule 3 --seed "$seed" 2>/dev/null
    for rule in 1 2 3; do
        try "$here/crash-tree-cut" $recorded_tree --cuts 400 --steps 60 --rule $rule --seed "$seed" 2>/dev/null
        try "$here/crash-door-cut" $recorded_door --cuts 400 --steps 60 --rule $rule --seed "$seed" 2>/dev/null
        try "$here/crash-object-cut" $recorded_object --cuts 400 --steps 60 --rule $rule --seed "$seed" 2>/dev/null
    done
}
[ "$kills" = 0 ] || try "$here/crash-kill" --kills "$kills" --seed "$seed"
[ "$kills" = 0 ] || try "$here/crash-tree-kill" --kills "$kills" --seed "$seed"
[ "$kills" = 0 ] || try "$here/crash-object-kill" --kills "$kills" --seed "$seed"
[ "$kills" = 0 ] || try "$here/crash-door-kill" --kills "$kills" --seed "$seed"
[ "$kills" = 0 ] || try "$here/crash-web-kill" --kills "$kills" --seed "$seed"
[ "$flips" = 0 ] || try "$here/crash-flip" --flips "$flips" --seed "$seed"
[ "$flips" = 0 ] || try "$here/crash-tree-flip" --flips "$flips" --seed "$seed"
[ "$flips" = 0 ] || try "$here/crash-object-flip" --flips "$flips" --seed "$seed"
[ "$flips" = 0 ] || try "$here/crash-flip" --aim meta --flips "$flips" --seed "$seed" --ashlar "$here/../../ashlar"
ASH_FAULTS_ALL=1
export ASH_FAULTS_ALL
try "$here/../faults/faults-io"
ASH_FAULTS_JOURNAL=1 try "$here/../faults/faults-io"
try "$here/../faults/faults-store"
try "$here/../faults/faults-tree-io"
ASH_FAULTS_JOURNAL=1 try "$here/../faults/faults-tree-io"
try "$here/../faults/faults-tree-store"
try "$here/../faults/faults-web-io"
ASH_FAULTS_JOURNAL=1 try "$here/../faults/faults-web-io"
try "$here/../faults/faults-object-io"
ASH_FAULTS_JOURNAL=1 try "$here/../faults/faults-object-io"
try "$here/../faults/faults-object-store"
try "$here/crash-concurrent" --seconds 60 --seed "$seed"
for way in folder address; do
    [ "$contend" = 0 ] || try python3 tests/tree/model/served.py "$here/../../ashlar" "$way" \
        "$here/../tree/model/tree-contend" --seconds "$contend" --seed "$seed"
done
exit $status
