#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the libraries below have to say about themselves is not the business of whoever types a command.
. "$(dirname "$0")/../lib.sh"

# The MongoDB driver counts in shared memory named after its process, and warns when a killed process left that behind.
case_counters_of_a_killed_process() {
    [ -d /dev/shm ] && [ -w /dev/shm ] || skip "no shared memory"
    echo text >"$scratch/file"
    cat >"$scratch/in_its_shoes" <<'EOF'
touch "/dev/shm/mongoc-$$"
exec "$@"
EOF
    sh "$scratch/in_its_shoes" "$ASHLAR" -s "$scratch/store" -q put "$scratch/file" 2>"$scratch/err" >"$scratch/out" || {
        cat "$scratch/err"
        return 1
    }
    fails grep . "$scratch/err"
}

run_cases
