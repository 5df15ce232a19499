#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Finder, Explorer and LibreOffice, as far as what they send goes (desktops.py).
# usage: ASHLAR=… desktops.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/web.sh"
start_web || exit 1

replay() {
    python3 "$here/desktops.py" "${http#http://}" "$1"
}

case_finder() {
    replay finder
}

case_finder_whose_bytes_are_lost() {
    replay finder-cut
}

case_explorer() {
    replay explorer
}

case_explorer_renames() {
    replay explorer-rename
}

case_libreoffice() {
    replay office
}

case_the_store_is_whole() {
    expect_sound
}

run_cases
