#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What goes wrong for somebody new to the command: what it says then, its exit status, and that nothing is left behind.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
a() {
    "$ASHLAR" -s "$store" "$@"
}

# says STATUS PATTERN COMMAND…: it ends so, and an error that is like this is on standard error.
says() {
    status=$1 pattern=$2
    shift 2
    expect_status "$status" "$@"
    grep -q -e "$pattern" "$scratch/err" && return 0
    sed 's/^/# said: /' "$scratch/err" >&2
    return 1
}

# Its standard output takes nothing: the exit status is in $got.
to_full() {
    got=0
    "$@" >/dev/full 2>"$scratch/err" || got=$?
    [ "$got" = 8 ] && grep -q 'cannot write to standard output: No space left on device' "$scratch/err" && return 0
    echo "# $got: $*" >&2
    cat "$scratch/err" >&2
    return 1
}

case_full_standard_output() {
    [ -c /dev/full ] || skip "no /dev/full"
    a -q put "$0" --name file
    start_server "$store"
    for served in yes no; do
        to_full a ls
        to_full a ls -l
        to_full a --json ls
        to_full a find '{}'
        to_full a df
        to_full a stat file
        to_full a sum file
        [ $served = no ] || stop_server
    done
}

# More than the buffer of standard output holds, so that a print fails in the middle of the work.
case_full_standard_output_in_the_middle() {
    [ -c /dev/full ] || skip "no /dev/full"
    name=$(printf 'long%.0s' $(seq 50))
    mkdir "$scratch/in"
    for i in $(seq 60); do : >"$scratch/in/$name$i"; done
    a -q put -r "$scratch/in"
    to_full a ls
    to_full a ls -l
    to_full a --json ls
    to_full a find '{}'
}

case_failed_put_makes_no_store() {
    new=$scratch/new
    mkdir "$scratch/folder"
    says 4 'cannot open nosuch: No such file' "$ASHLAR" -s "$new" put nosuch
    says 3 'cannot open other' "$ASHLAR" -s "$new" put nosuch other third/
    says 4 'cannot open nosuch' "$ASHLAR" -s "$new" put -r nosuch
    says 2 'put -r keeps folders' "$ASHLAR" -s "$new" put "$scratch/folder"
    [ ! -e "$new" ]
    fails grep -q 'made a new store' "$scratch/err"
    # One that is there is kept all the same.
    says 3 'made a new store' "$ASHLAR" -s "$new" put nosuch "$0" there/
    [ "$("$ASHLAR" -s "$new" ls)" = "there/$(basename "$0")" ]
}

case_named_bucket_or_database_that_is_not_there() {
    a -q init
    expect_status 0 a ls
    says 4 'there is no bucket nosuch in database test' a -b nosuch ls
    says 4 'there is no bucket fs in database nosuchdb' a -d nosuchdb ls
    says 4 'there is no bucket nosuch' a -b nosuch find '{}'
    says 4 'there is no bucket nosuch' a -b nosuch get -r . "$scratch/none"
    [ ! -e "$scratch/none" ]
}

case_folder_instead_of_a_file() {
    echo x | a -q put - docs/file
    for verb in cat stat sum; do
        says 4 'docs is a folder; ls shows what is in it' a $verb docs
    done
    says 4 'docs is a folder; ls shows' a mv docs other
    says 4 'docs is a folder; get -r takes all of it' a get docs
    says 4 'docs is a folder; rm -r takes all of it' a rm docs
    says 4 'no file named doc$' a cat doc
}

case_address_instead_of_a_folder() {
    for verb in check 'backup copy'; do
        says 2 'needs the store.s folder (ashlar -s FOLDER .*), not a mongodb:// address' \
            "$ASHLAR" -s mongodb://127.0.0.1:1/test $verb
    done
}

case_words_that_cannot_be_meant() {
    echo x | a -q put - xyz
    says 2 'parse error at "x", position 1 (names' a put --metadata '{x' "$0"
    mkdir "$scratch/into"
    a get xyz "$scratch/into/" | grep -q "^got $scratch/into/xyz "
    says 2 'needs a local file' a put --resume - foo
    says 4 'there are no wildcards: --prefix x lists' a ls 'x*'
    says 2 'did you mean get, or backup' a restore
    says 2 'cat does not take -n (--dry-run)' a cat -n xyz
    says 2 'the filter is not a JSON document: it must be { … }' a find '[]'
}

run_cases
