#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh RUNNER FOLDER: every test file of the folder against a fresh embedded store, or against ASH_SPEC_STORE.
set -u
runner=$1
folder=$2
set -- "$folder"/*.json
if [ ! -e "$1" ]; then
    echo "1..1"
    echo "ok 1 - cases # SKIP there are no test files in ${folder##*/}"
    exit 0
fi
if [ -n "${ASH_SPEC_STORE:-}" ]; then
    exec "$runner" "$ASH_SPEC_STORE" "$@"
fi
store=$(mktemp -d) || exit 1
trap 'rm -rf "$store"' EXIT
"$runner" "$store/files" "$@"
