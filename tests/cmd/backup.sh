#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `ashlar backup`: of a live store, again, after an interruption, of a damaged one, and into wrong folders.
. "$(dirname "$0")/../lib.sh"
copied() { # STORE DEST [FIELD]: how many payloads the backup copied, or another number of its report
    "$ASHLAR" -s "$1" --json backup "$2" | sed -n "s/.*\"${3:-copiedRecords}\" : \([0-9]*\).*/\1/p"
}
random() { # BYTES
    head -c "$1" /dev/urandom
}

case_backup_is_a_store() {
    random 3000000 | "$ASHLAR" -s "$scratch/a" put - large
    echo small | "$ASHLAR" -s "$scratch/a" -d other -b mine put - small
    "$ASHLAR" -s "$scratch/a" backup "$scratch/a-copy" | grep -q 'payloads copied'
    [ ! -e "$scratch/a-copy/ashlar.backup" ]
    "$ASHLAR" -s "$scratch/a-copy" check
    "$ASHLAR" -s "$scratch/a" cat large >"$scratch/large"
    "$ASHLAR" -s "$scratch/a-copy" cat large | cmp - "$scratch/large"
    [ "$("$ASHLAR" -s "$scratch/a-copy" -d other -b mine cat small)" = small ]
    # It lives on by itself.
    random 1000000 | "$ASHLAR" -s "$scratch/a-copy" put - more
    "$ASHLAR" -s "$scratch/a-copy" rm large
    "$ASHLAR" -s "$scratch/a-copy" check
    # And becomes a backup again, if what only it has may go.
    expect_status 5 "$ASHLAR" -s "$scratch/a" backup "$scratch/a-copy"
    grep -q 'changed since it was copied' "$scratch/err"
    "$ASHLAR" -s "$scratch/a-copy" cat more >/dev/null
    "$ASHLAR" -s "$scratch/a" backup --verify --replace "$scratch/a-copy" >/dev/null
    "$ASHLAR" -s "$scratch/a-copy" cat large | cmp - "$scratch/large"
    expect_status 4 "$ASHLAR" -s "$scratch/a-copy" cat more
}

case_repeated_backup_copies_what_changed() {
    for name in one two three; do
        random 2000000 | "$ASHLAR" -s "$scratch/b" put - $name
    done
    [ "$(copied "$scratch/b" "$scratch/b-copy")" = 24 ]
    [ "$(copied "$scratch/b" "$scratch/b-copy")" = 0 ]
    "$ASHLAR" -s "$scratch/b" rm two
    random 600000 | "$ASHLAR" -s "$scratch/b" put - four
    [ "$(copied "$scratch/b" "$scratch/b-copy")" = 3 ]
    "$ASHLAR" -s "$scratch/b-copy" check
    for name in one three four; do
        "$ASHLAR" -s "$scratch/b" cat $name >"$scratch/expected"
        "$ASHLAR" -s "$scratch/b-copy" cat $name | cmp - "$scratch/expected"
    done
    expect_status 4 "$ASHLAR" -s "$scratch/b-copy" cat two
}

case_repeated_backup_writes_few_pages_for_few_small_files() {
    mkdir "$scratch/small"
    for number in $(seq 500); do
        echo "$number" >"$scratch/small/$number"
    done
    "$ASHLAR" -s "$scratch/i" put -qr "$scratch/small"
    all=$(copied "$scratch/i" "$scratch/i-copy" copiedMetaBytes)
    [ "$all" -gt 400000 ]
    [ "$(copied "$scratch/i" "$scratch/i-copy" copiedMetaBytes)" -lt $((all / 10)) ]
    echo more | "$ASHLAR" -s "$scratch/i" put - more
    [ "$(copied "$scratch/i" "$scratch/i-copy" copiedMetaBytes)" -lt $((all / 4)) ]
    "$ASHLAR" -s "$scratch/i-copy" check
    [ "$("$ASHLAR" -s "$scratch/i-copy" cat more)" = more ]
    [ "$("$ASHLAR" -s "$scratch/i-copy" ls --json | wc -l)" = 501 ]
    # A folder that held a backup when it was made in another way has a file beside the metadata.
    echo old >"$scratch/i-copy/meta.mdb.new"
    "$ASHLAR" -s "$scratch/i" -q backup "$scratch/i-copy"
    [ ! -e "$scratch/i-copy/meta.mdb.new" ]
}

case_backup_of_a_served_store_under_change() {
    start_server "$scratch/c"
    for name in one two three four; do
        random 4000000 | "$ASHLAR" -s "$scratch/c" put - $name
    done
    (
        while [ ! -e "$scratch/c-enough" ]; do
            random 3000000 | "$ASHLAR" -s "$scratch/c" put --replace - changing
            "$ASHLAR" -s "$scratch/c" rm changing
        done
    ) >/dev/null 2>&1 &
    changer=$!
    for turn in 1 2 3 4; do
        (cd "$scratch" && "$ASHLAR" -s "$scratch/c" -q backup --verify c-copy)
        "$ASHLAR" -s "$scratch/c-copy" check >"$scratch/checked"
        for name in one two three four; do
            "$ASHLAR" -s "$scratch/c" sum $name >"$scratch/sum"
            "$ASHLAR" -s "$scratch/c-copy" cat $name | sha256sum | cut -c1-64 | grep -q "^$(cut -c1-64 "$scratch/sum")"
        done
    done
    touch "$scratch/c-enough"
    wait $changer
    stop_server
    "$ASHLAR" -s "$scratch/c" check
}

case_interrupted_backup_does_not_open_and_can_be_finished() {
    random 3000000 | "$ASHLAR" -s "$scratch/d" put - file
    "$ASHLAR" -s "$scratch/d" -q backup "$scratch/d-copy"
    # As an interruption leaves it: marked, without a superblock, and with a payload half written.
    head -c 32 "$scratch/d/ashlar.store" | tail -c 16 >"$scratch/d-copy/ashlar.backup"
    rm "$scratch/d-copy/ashlar.store"
    random 50000 | dd of="$scratch/d-copy/segments/00000001.seg" bs=1 seek=300000 conv=notrunc 2>/dev/null
    for words in ls check init "put $0"; do
        expect_status 1 "$ASHLAR" -s "$scratch/d-copy" $words
        grep -q 'the same backup again finishes it; when its source is gone, `ashlar check --repair`' "$scratch/err"
        [ "$(wc -l <"$scratch/err")" = 1 ]
    done
    expect_status 3 "$ASHLAR" -s "$scratch/d-copy" check --repair --into "$scratch/d-whole"
    "$ASHLAR" -s "$scratch/d-whole" check
    [ "$(copied "$scratch/d" "$scratch/d-copy")" = 1 ]
    "$ASHLAR" -s "$scratch/d-copy" check
    "$ASHLAR" -s "$scratch/d" cat file >"$scratch/expected"
    "$ASHLAR" -s "$scratch/d-copy" cat file | cmp - "$scratch/expected"
}

# A disk that is not mounted: the copy must not fill the one below it.
case_no_folder_is_made_above_the_copy() {
    random 100000 | "$ASHLAR" -s "$scratch/g" put - file
    expect_status 4 "$ASHLAR" -s "$scratch/g" backup "$scratch/not/mounted"
    grep -q "there is no folder $scratch/not" "$scratch/err"
    [ ! -e "$scratch/not" ]
    (cd "$scratch" && "$ASHLAR" -s g -q backup g-copy/)
    "$ASHLAR" -s "$scratch/g-copy" check
}

case_damage_of_the_store_is_reported_and_the_rest_copied() {
    random 300000 | "$ASHLAR" -s "$scratch/e" put - bad
    random 300000 | "$ASHLAR" -s "$scratch/e" put - good
    printf 'XY' | dd of="$scratch/e/segments/00000001.seg" bs=1 seek=100000 conv=notrunc 2>/dev/null
    expect_status 7 "$ASHLAR" -s "$scratch/e" backup --verify "$scratch/e-copy"
    "$ASHLAR" -s "$scratch/e" cat good >"$scratch/expected"
    "$ASHLAR" -s "$scratch/e-copy" cat good | cmp - "$scratch/expected"
    expect_status 7 "$ASHLAR" -s "$scratch/e-copy" cat bad
}

case_damage_of_the_copy_is_found() {
    random 300000 | "$ASHLAR" -s "$scratch/f" put - file
    "$ASHLAR" -s "$scratch/f" -q backup "$scratch/f-copy"
    printf 'XY' | dd of="$scratch/f-copy/segments/00000001.seg" bs=1 seek=100000 conv=notrunc 2>/dev/null
    expect_status 7 "$ASHLAR" -s "$scratch/f" backup --verify "$scratch/f-copy"
    # The next one mends it.
    "$ASHLAR" -s "$scratch/f" -q backup --verify "$scratch/f-copy"
    "$ASHLAR" -s "$scratch/f-copy" check
}

case_reading_a_copy_changes_nothing() {
    start_server "$scratch/r"
    random 300000 | "$ASHLAR" -s "$scratch/r" put - file
    "$ASHLAR" -s "$scratch/r" -q backup "$scratch/r-copy"
    for words in "ls -l" "cat file" "sum file" check df; do
        "$ASHLAR" -s "$scratch/r-copy" $words >"$scratch/read"
    done
    "$ASHLAR" -s "$scratch/r" -q backup "$scratch/r-copy"
    stop_server
}

# The store and its copy exchanged, or the store set back to an older state.
case_never_backwards() {
    echo old | "$ASHLAR" -s "$scratch/t" put - file
    cp -r "$scratch/t" "$scratch/t-monday"
    echo new | "$ASHLAR" -s "$scratch/t" put - news
    "$ASHLAR" -s "$scratch/t" -q backup "$scratch/t-copy"
    expect_status 5 "$ASHLAR" -s "$scratch/t-copy" backup "$scratch/t"
    grep -q 'has no ashlar.copied' "$scratch/err"
    # Also when it has come as far again, in another way.
    for turn in 1 2 3; do
        expect_status 5 "$ASHLAR" -s "$scratch/t-monday" backup "$scratch/t-copy"
        grep -q 'not in the past' "$scratch/err"
        echo other | "$ASHLAR" -s "$scratch/t-monday" put - other$turn
    done
    for store in t t-copy; do
        [ "$("$ASHLAR" -s "$scratch/$store" cat news)" = new ]
    done
    "$ASHLAR" -s "$scratch/t-monday" -q backup --replace "$scratch/t-copy"
    "$ASHLAR" -s "$scratch/t-copy" check
    expect_status 4 "$ASHLAR" -s "$scratch/t-copy" cat news
    [ "$("$ASHLAR" -s "$scratch/t-copy" cat file)" = old ]
}

# A record that the store has again, and whose place in the copy was given to another meanwhile.
case_pasts_are_not_mixed() {
    random 2000000 | "$ASHLAR" -s "$scratch/m" put - first
    cp -r "$scratch/m" "$scratch/m-monday"
    "$ASHLAR" -s "$scratch/m" -q backup "$scratch/m-copy"
    "$ASHLAR" -s "$scratch/m" rm first
    random 100000 | "$ASHLAR" -s "$scratch/m" put - small
    random 1900000 | "$ASHLAR" -s "$scratch/m" put - second
    "$ASHLAR" -s "$scratch/m" rm small
    "$ASHLAR" -s "$scratch/m" -q backup "$scratch/m-copy"
    "$ASHLAR" -s "$scratch/m-monday" -q backup --replace "$scratch/m-copy"
    "$ASHLAR" -s "$scratch/m-copy" check
    "$ASHLAR" -s "$scratch/m-monday" cat first >"$scratch/expected"
    "$ASHLAR" -s "$scratch/m-copy" cat first | cmp - "$scratch/expected"
}

case_damaged_metadata_leaves_the_copy_alone() {
    mkdir "$scratch/n-files"
    for number in $(seq 300); do
        echo "$number" >"$scratch/n-files/$number"
    done
    "$ASHLAR" -s "$scratch/n" put -qr "$scratch/n-files"
    "$ASHLAR" -s "$scratch/n" -q backup "$scratch/n-copy"
    (cd "$scratch/n-copy" && sha256sum meta.mdb ashlar.store ashlar.copied) >"$scratch/n-sums"
    cp -r "$scratch/n" "$scratch/n-good"
    pages=$(($(wc -c <"$scratch/n/meta.mdb") / 4096))
    for page in $(seq 2 7 "$pages"); do
        head -c 200 /dev/zero | dd of="$scratch/n/meta.mdb" bs=1 seek=$((page * 4096 + 1000)) conv=notrunc 2>/dev/null
    done
    expect_status 7 "$ASHLAR" -s "$scratch/n" --json backup "$scratch/n-copy"
    grep -q 'nothing was written' "$scratch/err"
    grep -q '"clean" : false' "$scratch/out"
    (cd "$scratch/n-copy" && sha256sum -c --quiet) <"$scratch/n-sums"
    expect_status 7 "$ASHLAR" -s "$scratch/n" backup "$scratch/n-new"
    "$ASHLAR" -s "$scratch/n-copy" check
}

case_missing_segment_leaves_the_copy_alone() {
    random 9000000 | "$ASHLAR" -s "$scratch/o" put - file
    "$ASHLAR" -s "$scratch/o" -q backup "$scratch/o-copy"
    rm "$scratch/o/segments/00000002.seg"
    expect_status 7 "$ASHLAR" -s "$scratch/o" backup "$scratch/o-copy"
    "$ASHLAR" -s "$scratch/o-copy" check
}

# Copies that share files by hard links, one a day.
case_linked_copies_stay_as_they_are() {
    random 700000 | "$ASHLAR" -s "$scratch/l" put - monday
    "$ASHLAR" -s "$scratch/l" -q backup "$scratch/l-copy"
    cp -al "$scratch/l-copy" "$scratch/l-monday"
    "$ASHLAR" -s "$scratch/l" rm monday
    random 800000 | "$ASHLAR" -s "$scratch/l" put - tuesday
    "$ASHLAR" -s "$scratch/l" -q backup "$scratch/l-copy"
    [ "$("$ASHLAR" -s "$scratch/l-monday" ls)" = monday ]
    [ "$("$ASHLAR" -s "$scratch/l-copy" ls)" = tuesday ]
    for day in monday copy; do
        "$ASHLAR" -s "$scratch/l-$day" check
    done
}

case_cut_off_segment_of_the_copy_is_mended() {
    random 3000000 | "$ASHLAR" -s "$scratch/u" put - file
    "$ASHLAR" -s "$scratch/u" -q backup "$scratch/u-copy"
    truncate -s 1000000 "$scratch/u-copy/segments/00000001.seg"
    "$ASHLAR" -s "$scratch/u" -q backup "$scratch/u-copy"
    "$ASHLAR" -s "$scratch/u-copy" check
}

# Killed when all but done: the copy opens, and what is put into it is not lost.
case_a_copy_used_after_a_kill_is_left_alone() {
    command -v strace >/dev/null 2>&1 || skip "no strace"
    echo x | "$ASHLAR" -s "$scratch/v" put - file
    "$ASHLAR" -s "$scratch/v" -q backup "$scratch/v-copy"
    for rename in 1 2 3 4; do
        echo y | "$ASHLAR" -s "$scratch/v" put - "more$rename"
        strace -f -o /dev/null -e trace=rename -e inject=rename:signal=KILL:when=$rename \
            "$ASHLAR" -s "$scratch/v" -q backup "$scratch/v-copy" || true
        if echo z | "$ASHLAR" -s "$scratch/v-copy" put - precious 2>"$scratch/err"; then
            expect_status 5 "$ASHLAR" -s "$scratch/v" backup "$scratch/v-copy"
            "$ASHLAR" -s "$scratch/v" -q backup --replace "$scratch/v-copy"
        else
            "$ASHLAR" -s "$scratch/v" -q backup "$scratch/v-copy"
        fi
    done
}

case_links_in_the_place_of_files_are_refused() {
    random 300000 | "$ASHLAR" -s "$scratch/w" put - file
    "$ASHLAR" -s "$scratch/w" -q backup "$scratch/w-copy"
    mv "$scratch/w-copy/meta.mdb" "$scratch/w-meta"
    ln -s "$scratch/w-meta" "$scratch/w-copy/meta.mdb"
    expect_status 5 "$ASHLAR" -s "$scratch/w" backup "$scratch/w-copy"
    rm "$scratch/w-copy/meta.mdb"
    mv "$scratch/w-meta" "$scratch/w-copy/meta.mdb"
    "$ASHLAR" -s "$scratch/w-copy" check
    # In a folder that somebody else prepared, too; what a link names is left alone.
    mkdir "$scratch/w-else"
    for name in lock segments ashlar.backup.new; do
        mkdir "$scratch/w-$name"
        ln -s "$scratch/w-else/victim" "$scratch/w-$name/$name"
        status=0
        "$ASHLAR" -s "$scratch/w" backup "$scratch/w-$name" 2>"$scratch/err" || status=$?
        [ $status != 0 ]
        grep -q "$name is a symbolic link" "$scratch/err"
        [ -z "$(ls -A "$scratch/w-else")" ]
    done
    mkdir "$scratch/w-vacant"
    ln -s "$scratch/w-else" "$scratch/w-vacant/segments"
    expect_status 5 "$ASHLAR" -s "$scratch/w" backup "$scratch/w-vacant"
    [ -z "$(ls -A "$scratch/w-else")" ]
}

case_wrong_folders() {
    echo x | "$ASHLAR" -s "$scratch/g" put - file
    echo x | "$ASHLAR" -s "$scratch/h" put - file
    expect_status 5 "$ASHLAR" -s "$scratch/g" backup "$scratch/h"
    grep -q 'another store' "$scratch/err"
    [ "$("$ASHLAR" -s "$scratch/h" cat file)" = x ]
    mkdir "$scratch/full" && echo precious >"$scratch/full/file"
    expect_status 5 "$ASHLAR" -s "$scratch/g" backup "$scratch/full"
    [ "$(ls "$scratch/full")" = file ]
    expect_status 2 "$ASHLAR" -s "$scratch/g" backup "$scratch/g"
    expect_status 2 "$ASHLAR" -s "$scratch/g" backup "$scratch/g/inside"
    [ "$("$ASHLAR" -s "$scratch/g" cat file)" = x ]
    "$ASHLAR" -s "$scratch/g" -q backup "$scratch/g-copy"
    start_server "$scratch/g-copy"
    expect_status 6 "$ASHLAR" -s "$scratch/g" backup "$scratch/g-copy"
    stop_server
}

run_cases
