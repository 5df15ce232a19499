#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build and run all tests.  usage: test.sh BUILD
# The last line is "N passed, N failed, N skipped"; the exit status is 0 when none failed.
set -eu
build=$1
[ -f "$build/build.ninja" ] || meson setup "$build" -Dtests=enabled >/dev/null
meson configure "$build" -Dtests=enabled >/dev/null
ninja -C "$build"
status=0
meson test -C "$build" --no-rebuild --num-processes 2 --print-errorlogs --timeout-multiplier "${ASH_TIMEOUT_FACTOR:-1}" ||
    status=$?
python3 tools/tally.py "$build/meson-logs/testlog.json" || status=1
exit $status
