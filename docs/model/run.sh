#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Check the model of the lock protocol with spin: as it is it must hold, without its parts it must fail.
# usage: docs/model/run.sh [MOVES]     MOVES of the peer: 2 unless said; more take much longer
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

moves=${1:-2}

check() { # NAME ERRORS [DEFINES…]: ERRORS is 0 or 1
    name=$1
    expected=$2
    shift 2
    spin -DPEER_MOVES="$moves" "$@" -a "$here/locks.pml" >spin.out || { cat spin.out; return 1; }
    ${CC:-cc} -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=4096 -o pan pan.c
    ./pan -m200000 >pan.out 2>&1 || true
    if [ "$expected" = 0 ] && grep -q 'max search depth too small\|out of memory\|MEMLIM' pan.out; then
        cat pan.out
        return 1
    fi
    errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.out | head -n 1)
    [ "$errors" != 0 ] || ! grep -q 'Search not completed' pan.out || { cat pan.out; return 1; }
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out)
    echo "$name: errors $errors, expected $expected; $states states"
    [ "$errors" = "$expected" ] || { cat pan.out; return 1; }
}

check "the protocol" 0
check "commits that do not check the lock" 1 -DNO_FENCE
check "releases that do not check the lock" 1 -DNO_OWNER
check "tokens that start over" 1 -DNO_SEQUENCE
check "announced commits" 0 -DANNOUNCED
check "announced commits that nobody takes back" 1 -DANNOUNCED -DNO_REVOKE
echo "the model holds"
