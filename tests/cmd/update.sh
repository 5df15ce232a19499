#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Putting a folder again: what is unchanged is left out, and times and modes come back.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
a() {
    "$ASHLAR" -s "$store" "$@"
}

fresh() {
    rm -rf "$store" "$scratch/tree"
    mkdir -p "$scratch/tree/sub" "$scratch/tree/empty"
    echo one >"$scratch/tree/one"
    echo two >"$scratch/tree/sub/two"
    printf '#!/bin/sh\n' >"$scratch/tree/run"
    chmod 750 "$scratch/tree/run"
    touch -d '2020-02-03 04:05:06.789 UTC' "$scratch/tree/one" "$scratch/tree/sub/two"
    a init -q
}

revisions() {
    a ls -a | wc -l
}

case_unchanged_files_are_left_out() {
    fresh
    a put -r --update "$scratch/tree" | grep -qx 'kept 4 files (18 B), 0 unchanged'
    a put -r --update "$scratch/tree" | grep -qx 'kept 0 files (0 B), 4 unchanged'
    [ "$(revisions)" = 4 ]
    echo more >>"$scratch/tree/one"
    a -n put -ru "$scratch/tree" | grep -qx "would put $scratch/tree/one as one"
    a put -ru "$scratch/tree" | grep -qx 'kept 1 file (9 B), 3 unchanged'
    [ "$(a cat one)" = "$(cat "$scratch/tree/one")" ]
    # The same size, another time.
    echo owt >"$scratch/tree/sub/two"
    a put -ru "$scratch/tree" | grep -qx 'kept 1 file (4 B), 3 unchanged'
    [ "$(a cat sub/two)" = owt ]
    [ "$(a --json put -ru "$scratch/tree" | grep -c '"unchanged" : true')" = 4 ]
}

case_by_digest_when_asked() {
    fresh
    a -q put -ru "$scratch/tree"
    # Size and time are as they were; only the bytes tell.
    echo eno >"$scratch/tree/one"
    touch -d '2020-02-03 04:05:06.789 UTC' "$scratch/tree/one"
    a put -ru "$scratch/tree" | grep -qx 'kept 0 files (0 B), 4 unchanged'
    a put -r --checksum "$scratch/tree" | grep -qx 'kept 1 file (4 B), 3 unchanged'
    [ "$(a cat one)" = eno ]
    touch "$scratch/tree/sub/two"
    a put -r --checksum "$scratch/tree" | grep -qx 'kept 0 files (0 B), 4 unchanged'
}

# Where nobody kept the time, the local file must be older than the upload.
case_without_a_time_that_was_kept() {
    fresh
    a -q put -r "$scratch/tree"
    touch -d '2020-02-03 UTC' "$scratch/tree/run"
    a put -ru "$scratch/tree" | grep -qx 'kept 0 files (0 B), 4 unchanged'
    touch -d '+1 hour' "$scratch/tree/run"
    a put -ru "$scratch/tree" | grep -qx 'kept 1 file (10 B), 3 unchanged'
}

case_time_and_mode_come_back() {
    fresh
    a -q put -r -p --metadata '{"by": "me", "mode": "x"}' "$scratch/tree"
    a --json stat run | grep -q '"metadata" : { "by" : "me", "mtime" : { "\$date" : "[^"]*" }, "mode" : 488 }'
    a -q get -r -p . "$scratch/back"
    for file in one sub/two run; do
        [ "$(stat -c '%a %Y' "$scratch/back/$file")" = "$(stat -c '%a %Y' "$scratch/tree/$file")" ]
    done
    a -q get -p sub/two "$scratch/alone"
    [ "$(stat -c %Y "$scratch/alone")" = "$(stat -c %Y "$scratch/tree/sub/two")" ]
    # Not unless it is asked for, as with cp.
    a -q get -r . "$scratch/plain"
    [ "$(stat -c %Y "$scratch/plain/one")" != "$(stat -c %Y "$scratch/tree/one")" ]
    [ ! -x "$scratch/plain/run" ]
    # What runs as somebody else is nothing to take from a bucket.
    echo x | a -q put --metadata '{"mode": 3565}' - setuid
    a -q get -p setuid "$scratch/setuid"
    [ "$(stat -c %a "$scratch/setuid")" = 755 ]
}

case_twice_makes_revisions_and_says_so() {
    fresh
    a put -r "$scratch/tree" 2>"$scratch/err"
    [ ! -s "$scratch/err" ]
    a put -r "$scratch/tree" 2>"$scratch/err" | grep -qx 'kept 4 files (18 B)'
    grep -q 'one more revision.*--update' "$scratch/err"
    [ "$(revisions)" = 8 ]
    a -q put -r "$scratch/tree" 2>"$scratch/err"
    [ ! -s "$scratch/err" ]
}

run_cases
