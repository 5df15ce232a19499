#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/OBJECTS.md, typed as it stands there.
# usage: ASHLAR=… objects_guide.sh PAGE
. "$(dirname "$0")/../lib.sh"
page=$(realpath "$1")
typist=$(realpath "$(dirname "$0")/type_page.py")

case_the_page_is_right() {
    mkdir "$scratch/home"
    cd "$scratch/home"
    HOME=$scratch/home PATH=$(dirname "$ASHLAR"):$PATH python3 "$typist" "$page" >"$scratch/typed" || {
        cat "$scratch/typed"
        return 1
    }
    grep -q '^[23][0-9] lines typed, 0 ' "$scratch/typed"
}

case_the_store_is_clean_afterwards() {
    "$ASHLAR" -s "$scratch/home/store" check
}

run_cases
