#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What docs/OPERATING.md tells the keeper of a store to type works as shown, one step after the other.
# usage: ASHLAR=… operating.sh PAGE
. "$(dirname "$0")/../lib.sh"
page=$1
store=$scratch/srv/files
disk=$scratch/mnt/disk

# step N [SED]: the N-th block of the page, with our folders and this command.
step() {
    block "$page" sh "$1" | sed "s|/tmp/|$scratch/|g; s|/srv\\>|$scratch/srv|g; s|/mnt/disk|$disk|g; ${2-}" >"$scratch/step.sh"
    [ -s "$scratch/step.sh" ]
    PATH=$(dirname "$ASHLAR"):$PATH bash -e -o pipefail "$scratch/step.sh"
}

night() { # DAY
    step 1 "s|\$(date +%s)|$(($1 * 86400))|"
}

# Spoils report.pdf wherever the store has it.
damage() {
    for segment in "$store"/segments/*; do
        grep -obUa 'the middle of the report' "$segment" | cut -d: -f1 | while read -r at; do
            printf X | dd of="$segment" bs=1 seek="$at" conv=notrunc 2>/dev/null
        done
    done
    expect_status 7 "$ASHLAR" -s "$store" cat report.pdf
    expect_status 7 "$ASHLAR" -s "$store" check
}

whole() { # STORE
    "$ASHLAR" -s "$1" -q check
    "$ASHLAR" -s "$1" cat report.pdf | cmp - "$scratch/report.pdf"
}

case_1_backup_every_night() {
    mkdir -p "$scratch/srv" "$disk"
    (head -c 400000 /dev/urandom && echo the middle of the report && head -c 400000 /dev/urandom) >"$scratch/report.pdf"
    "$ASHLAR" -s "$store" -q put --metadata '{"by": "us"}' --name report.pdf "$scratch/report.pdf"
    echo notes | "$ASHLAR" -s "$store" -q put - notes
    # The disk is not mounted.
    expect_status 4 night 0
    grep -q "there is no folder $disk/backup" "$scratch/err"
    mkdir "$disk/backup"
    for day in 0 1 2 3; do
        [ -z "$(night $day 2>&1)" ]
    done
    [ "$(ls "$disk/backup" | tr '\n' ' ')" = 'files-0 files-1 ' ]
    whole "$disk/backup/files-0"
    whole "$disk/backup/files-1"
    "$ASHLAR" -q --json -s "$store" backup "$disk/backup/files-0" >"$scratch/report"
    sed -n '/^| field/,/^$/p' "$page" | grep -o '^| `.*` |' | grep -o '`[a-zA-Z]*`' | tr -d '`' >"$scratch/fields"
    [ "$(wc -l <"$scratch/fields")" = 10 ]
    while read -r field; do
        grep -q "\"$field\" : " "$scratch/report"
    done <"$scratch/fields"
    [ "$(grep -o '"[a-zA-Z]*" : ' "$scratch/report" | wc -l)" = 10 ]
}

case_2_restore() {
    step 2 >"$scratch/listed"
    grep -qx report.pdf "$scratch/listed"
    cmp "$scratch/restored/report.pdf" "$scratch/report.pdf"
    step 3
    whole "$store"
    rm -r "$store"
    cp -a "$disk/backup/files-1" "$store"
    whole "$store"
    night 1
    # One that was interrupted, as it is left then.
    head -c 32 "$store/ashlar.store" | tail -c 16 >"$disk/backup/files-0/ashlar.backup"
    rm "$disk/backup/files-0/ashlar.store"
    expect_status 1 "$ASHLAR" -s "$disk/backup/files-0" ls
    whole "$disk/backup/files-1"
    step 4
    whole "$scratch/srv/salvaged"
    night 0
    whole "$disk/backup/files-0"
}

case_3_move() {
    mkdir "$disk/elsewhere"
    step 5
    whole "$disk/elsewhere/files"
    "$ASHLAR" -s "$disk/elsewhere/files" -q backup "$disk/backup/files-0"
}

case_4_mend_one_file() {
    damage
    expect_status 7 night 0
    whole "$disk/backup/files-0"
    expect_status 3 "$ASHLAR" -s "$store" check --repair -n
    grep -q '"report.pdf"' "$scratch/out"
    # Found there, by what describes it.
    for option in -q --replace; do
        "$ASHLAR" copy "$disk/backup/files-0" "$store" $option
        expect_status 7 "$ASHLAR" -s "$store" check
    done
    cp -a "$store" "$scratch/damaged"
    step 6
    whole "$store"
    "$ASHLAR" -s "$store" stat report.pdf | fails grep -q us
    rm -r "$store"
    mv "$scratch/damaged" "$store"
    "$ASHLAR" -s "$store" -q rm notes
    step 7 >"$scratch/copied"
    grep -q 'would copy .*notes' "$scratch/copied"
    whole "$store"
    "$ASHLAR" -s "$store" stat --json report.pdf >"$scratch/now"
    "$ASHLAR" -s "$disk/backup/files-0" stat --json report.pdf | cmp - "$scratch/now"
    [ "$("$ASHLAR" -s "$store" cat notes)" = notes ]
}

case_5_repair_all() {
    damage
    step 8 's/--repair --replace/& || [ $? = 3 ]/'
    whole "$store"
    [ "$(ls -d "$store".damaged-* | wc -l)" = 1 ]
    expect_status 5 night 0
    grep -q 'holds another store' "$scratch/err"
    step 9
    night 1
    whole "$disk/backup/files-0"
    whole "$disk/backup/files-1"
    whole "$disk/backup/before-repair/files-0"
    step 10 | grep -q "^$store takes .* on the disk"
}

case_6_settings() {
    block "$page" ini 1 >"$scratch/conf"
    [ "$(wc -l <"$scratch/conf")" -gt 10 ]
    "$ASHLAR" serve --config "$scratch/conf" --check-config | grep -qx "$scratch/conf: good"
    # All keys are there that SIGHUP is said to change, and these are all.
    for key in 'max-connections = 2' 'expire-every = 2' 'sum-every = 2' 'log-level = debug'; do
        grep -q "SIGHUP reads the file again.*\`${key%% *}\`" "$page"
    done
}

run_cases
