#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything `make test` does not do on every run: both compilers, sanitizers, layout, the size report.
# usage: tools/check.sh   (from the top folder)   ASH_CHECK_QUICK=1 leaves the sanitizers' client suites out
set -eu
root=$(pwd)
failed=

step() {
    echo "== $1"
    shift
    if "$@"; then
        return 0
    fi
    failed="$failed
  $*"
}

build_with() { # COMPILER FOLDER
    rm -rf "$2"
    CC=$1 meson setup "$2" -Dtests=enabled >/dev/null && ninja -C "$2" >"$2/log" 2>&1 || { tail -40 "$2/log"; return 1; }
}

sanitize() { # FOLDER SANITIZERS
    [ -f "$1/build.ninja" ] || CC=clang meson setup "$1" -Dtests=enabled -Db_sanitize="$2" -Db_lundef=false \
        -Dbuildtype=debugoptimized >/dev/null
    ninja -C "$1" >"$1/log" 2>&1 || { tail -40 "$1/log"; return 1; }
    meson test -C "$1" --no-rebuild --num-processes 2 --print-errorlogs --timeout-multiplier 8 --suite fast
}

layout() {
    git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror
}

banned() {
    ! git grep -nE '\b(strcpy|strcat|sprintf|vsprintf|gets|mktemp|tmpnam|system|popen)\(' -- src include |
        grep -v ash__sprintf
}

step "layout (clang-format)" layout
step "banned functions" banned
step "gcc" build_with gcc build-gcc
step "a large tree" env ASH_TREE=large meson test -C build-gcc --no-rebuild --print-errorlogs cmd-tree
step "clang" build_with clang build-clang
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
step "address and undefined-behaviour sanitizers" sanitize build-asan address,undefined
export TSAN_OPTIONS="suppressions=$root/tools/tsan.supp:halt_on_error=1:die_after_fork=0"
step "thread sanitizer" sanitize build-tsan thread
if command -v spin >/dev/null 2>&1 && [ -f docs/model/run.sh ]; then
    step "models of locks and trees" sh docs/model/run.sh
fi
step "sizes" python3 tests/house/sizes.py "$root"
if [ -n "$failed" ]; then
    echo "FAILED:$failed"
    exit 1
fi
echo "all checks passed"
