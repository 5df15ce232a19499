#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# schemathesis, unmodified, reads the server's own openapi.json and asks it whatever that allows and forbids.
# usage: ASHLAR=… openapi.sh   (its packages go to $ASH_SCHEMATHESIS_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/web.sh"
folder=${ASH_SCHEMATHESIS_FOLDER:-$scratch/schemathesis}
# The system's Python, or another one that is new enough.
python=/usr/bin/python3
[ -x $python ] || python=python3

install_schemathesis() {
    [ ! -f "$folder/installed" ] || return 0
    $python -m venv "$folder" && "$folder/bin/pip" install -q 'schemathesis==4.32.5' >"$scratch/pip.log" 2>&1 || {
        sed 's/^/# /' "$scratch/pip.log" >&2
        return 1
    }
    touch "$folder/installed"
}

case_schemathesis() {
    install_schemathesis
    start_web
    # Every check but one: that what the description allows is answered by success.  Which paths and names are there it cannot know.
    (cd "$scratch" && "$folder/bin/schemathesis" run "$http/.ashlar/openapi.json" --max-examples 25 --seed 1 \
        --exclude-checks positive_data_acceptance >"$scratch/said" 2>&1) || {
        tail -n 80 "$scratch/said" >&2
        return 1
    }
    grep -q ' generated' "$scratch/said"
    # It was asked all of it, and lives.
    curl -sSf "$http/.ashlar/health" >/dev/null
    stop_server
}

# What is built in is what is documented, and what the tool writes.
case_is_what_the_tool_writes() {
    python3 "$here/../../tools/openapi.py" | cmp - "$here/../../docs/openapi.json"
}

run_cases
