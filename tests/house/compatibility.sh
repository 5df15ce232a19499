#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/COMPATIBILITY.md says what the tables in the code say.  usage: compatibility.sh PROGRAM DOCUMENT
echo "1..1"
if "$1" | diff - "$2" >/dev/null; then
    echo "ok 1 docs/COMPATIBILITY.md is up to date"
else
    "$1" | diff - "$2" | head -20 | sed 's/^/# /'
    echo "not ok 1 docs/COMPATIBILITY.md is up to date (write it anew: build/tests/house/compatibility > docs/COMPATIBILITY.md)"
    exit 1
fi
