#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build the tests and run them.
#
# usage: tools/test.sh BUILD own|clients [NAME…|--suite NAME]
#
# own: all suites but `clients`; clients: that one, which runs other people's drivers and servers.  Names run those tests alone.
# The last line is "N passed, N failed, N skipped"; the exit status is 0 when none failed.
set -eu
build=$1
which=$2
shift 2
log=$build/meson-logs/testlog.json
tools/configure.sh "$build" tests=enabled
ninja -C "$build"
case "$which" in
own) [ $# -gt 0 ] || set -- --no-suite clients ;;
clients) [ $# -gt 0 ] || set -- --suite clients ;;
esac
rm -f "$log"
meson test -C "$build" --list --no-rebuild "$@" >"$build/meson-logs/listed.txt" || { cat "$build/meson-logs/listed.txt"; exit 1; }
status=0
meson test -C "$build" --no-rebuild --num-processes "${ASH_TEST_JOBS:-2}" --print-errorlogs \
    --timeout-multiplier "${ASH_TIMEOUT_FACTOR:-1}" "$@" || status=$?
python3 tools/tally.py "$log" --listed "$build/meson-logs/listed.txt" --status $status
