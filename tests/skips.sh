#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a test program of cmocka, which says "not ok N # SKIP NAME" of a test that was left out, and says it as TAP wants
# it: "ok N - NAME # SKIP".  usage: skips.sh PROGRAM [ARGUMENT]…
exec 4>&1
status=$({ { "$@" 3>&- 4>&-; echo $? >&3; } | sed 's/^not ok \([0-9]*\) # SKIP \(.*\)/ok \1 - \2 # SKIP/' >&4; } 3>&1)
exit "$status"
