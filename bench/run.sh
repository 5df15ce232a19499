#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every workload on every peer, side by side.
#
# usage: bench/run.sh [BUILD]        environment: RUNS (5), SCALE (1), MIB (256), PLACE (BUILD/bench-space), WORKLOADS (all)
#
# Leaves results.csv, unequal.txt and an SVG plot a figure in BUILD/bench-results and prints a table of ratios.
# The figures are ratios within one run: PLACE should be on the disk that is asked about.
set -eu

build=${1:-build}
runs=${RUNS:-5}
scale=${SCALE:-1}
mib=${MIB:-256}
place=${PLACE:-$build/bench-space}
workloads=${WORKLOADS:-all}
results=$build/bench-results

if ! awk "BEGIN { exit !($scale >= 0.125) }"; then
    echo "SCALE is at least 0.125, and it is $scale." >&2
    exit 1
fi
if [ ! -f "$build/build.ninja" ]; then
    echo "There is no build in $build; \"make build\" makes one." >&2
    exit 1
fi
ninja -C "$build" ashlar bench/ashlar-bench-layers bench/ashlar-bench-locks
if ninja -C "$build" -t targets all | grep -q '^bench/ashlar-bench:'; then
    ninja -C "$build" bench/ashlar-bench
elif [ "$workloads" != locks ] && [ "$workloads" != objects ]; then
    echo "Without libsqlite3-dev only the layers are measured (librocksdb-dev adds one more peer)." >&2
    workloads=layers
fi

# The largest peer keeps about four times a run's data for a while.
mkdir -p "$place" "$results"
place=$(cd "$place" && pwd)
needed=$(awk "BEGIN { n = 512 * $scale; if ($mib > n) n = $mib; print int(n * 5 + 1024) }")
free=$(df -Pm "$place" | awk 'NR == 2 { print $4 }')
if [ "$free" -lt "$needed" ]; then
    echo "The benchmarks need $needed MiB of free space in $place, and there are $free; SCALE=0.25 MIB=64 take less." >&2
    exit 1
fi

csv=$results/results.csv
notes=$results/unequal.txt
: >"$csv"
: >"$notes"
fail=0
case $workloads in
layers | chunks | locks | objects | "layers locks" | "locks layers") ;;
*)
    # shellcheck disable=SC2086
    "$build/bench/ashlar-bench" "$place/peers" "$runs" "$scale" $workloads >>"$csv" 2>>"$notes" || fail=1
    ;;
esac
case $workloads in
all | *layers*)
    "$build/bench/ashlar-bench-layers" "$place/layers" "$runs" "$mib" "$build/ashlar" >>"$csv" 2>>"$notes" || fail=1
    ;;
chunks)
    "$build/bench/ashlar-bench-layers" "$place/layers" "$runs" "$mib" "$build/ashlar" chunks >>"$csv" 2>>"$notes" || fail=1
    ;;
esac
case $workloads in
all | *locks*)
    ASHLAR=$build/ashlar bash "$(dirname "$0")/locks.sh" "$build" "$place/locks" "$runs" "$scale" >>"$csv" 2>>"$notes" || fail=1
    ;;
esac
case $workloads in
*objects*)
    ninja -C "$build" bench/ashlar-bench-objects tests/object/jetstream/nats-servers
    ASHLAR=$build/ashlar bash "$(dirname "$0")/objects.sh" "$build" "$place/objects" "$runs" "$mib" 2000 >>"$csv" 2>>"$notes" || fail=1
    ;;
esac
rm -rf "$place"
python3 "$(dirname "$0")/plot.py" "$csv" "$results"
echo
echo "What was unequal (medians of $runs runs; peers take turns within a run):"
sed 's/^# /  /' "$notes"
echo
echo "In $results: results.csv, unequal.txt and a plot of each figure."
exit $fail
