#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: wrong.sh RUNNER FOLDER    Each test of the folder's files is wrong; one that passes or is skipped shows a blind runner.
runner=$1
folder=$2
store=$(mktemp -d) || exit 1
trap 'rm -rf "$store"' EXIT
"$runner" "$store/files" "$folder"/*.json >"$store/out"
echo "1..1"
if [ "$(grep -c '^not ok' "$store/out")" -gt 20 ] && ! grep -q '^ok' "$store/out"; then
    echo "ok 1 - all are found"
else
    grep '^ok' "$store/out" | sed 's/^/# /'
    echo "not ok 1 - some are not found"
    exit 1
fi
