#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Check the models with spin: as they are they must hold, without their parts they must fail.
# usage: docs/model/run.sh [MOVES [EDITS]]     MOVES of the peer of locks, EDITS beside the collectors of contents:
#                                              2 of each unless said; more take much longer
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

moves=${1:-2}
edits=${2:-2}

check() { # MODEL NAME ERRORS [DEFINES…]: ERRORS is 0 or 1
    model=$1
    name=$2
    expected=$3
    shift 3
    spin -DPEER_MOVES="$moves" -DEDITS="$edits" "$@" -a "$here/$model.pml" >spin.out || { cat spin.out; return 1; }
    ${CC:-cc} -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=4096 -o pan pan.c
    ./pan -m200000 >pan.out 2>&1 || true
    if [ "$expected" = 0 ] && grep -q 'max search depth too small\|out of memory\|MEMLIM' pan.out; then
        cat pan.out
        return 1
    fi
    errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.out | head -n 1)
    [ "$errors" != 0 ] || ! grep -q 'Search not completed' pan.out || { cat pan.out; return 1; }
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out)
    echo "$model, $name: errors $errors, expected $expected; $states states"
    [ "$errors" = "$expected" ] || { cat pan.out; return 1; }
}

check locks "the protocol" 0
check locks "commits that do not check the lock" 1 -DNO_FENCE
check locks "releases that do not check the lock" 1 -DNO_OWNER
check locks "tokens that start over" 1 -DNO_SEQUENCE
check locks "a lock that goes on whoever has it" 1 -DNO_PASS_OWNER
check locks "tokens of whatever document is there" 1 -DNO_BASE_OWNER
check locks "announced commits" 0 -DANNOUNCED
check locks "announced commits that nobody takes back" 1 -DANNOUNCED -DNO_REVOKE

check collect "transactions one after the other" 0
check collect "the same with pieces" 0 -DPIECES
check collect "transactions that overlap" 0 -DSNAPSHOT
check collect "the same with pieces" 0 -DPIECES -DSNAPSHOT
check collect "contents of any age" 0 -DPIECES -DSNAPSHOT -DANY_AGE -DMAY_FAIL
check collect "contents of any age, and no writer fails" 1 -DPIECES -DANY_AGE
check collect "writers that trust what they found" 1 -DNO_HOLD
check collect "writers that trust what they build on" 1 -DNO_RELY
check collect "collectors that trust what they saw" 1 -DNO_LOOK
check collect "collectors that stop at deltas" 1 -DPIECES -DNO_BASES
check collect "overlapping, what was found is looked at and not touched" 1 -DSNAPSHOT -DNO_TOUCH_HELD
check collect "overlapping, a base is looked at and not touched" 1 -DSNAPSHOT -DNO_TOUCH_BASE

check shape "moves, deletions and new files that overlap" 0
check shape "moves that do not claim the shape" 1 -DNO_SHAPE
check shape "folders that nobody claims" 1 -DNO_FOLDER
echo "the models hold"
