#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Names as paths: what goes into a folder, and what a folder's name means.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
a() {
    "$ASHLAR" -s "$store" "$@"
}

# fresh NAME...: a new store that holds these names, each with its name as content.
fresh() {
    rm -rf "$store"
    a init -q
    for name; do
        printf %s "$name" >"$scratch/content"
        a -q put --name "$name" "$scratch/content"
    done
}

names() {
    a ls "$@" | tr '\n' ' '
}

case_put_into_a_folder() {
    fresh
    echo one >"$scratch/a"
    echo two >"$scratch/b"
    cd "$scratch"
    a put a x/
    a put a --name y/z/
    a put a b both/
    a put a b --name named/
    [ "$(names)" = "both/a both/b named/a named/b x/a y/z/a " ]
    a get -r . "$scratch/out-put"
    cmp a "$scratch/out-put/x/a"
    cmp b "$scratch/out-put/both/b"
    expect_status 2 a put - x/ <a
    grep -q 'x/ is a folder' "$scratch/err"
    expect_status 2 a put a b --name one
    expect_status 2 a put a ''
    expect_status 2 a put a --name ''
    expect_status 2 a put -r . --name ''
    [ "$(names | wc -w)" = 6 ]
}

case_move_into_a_folder() {
    fresh a deep/b c
    a mv a folder/ | grep -qx 'renamed a to folder/a'
    a mv deep/b folder/
    id=$(a --json stat c | sed -n 's/.*"\$oid" : "\([0-9a-f]*\)".*/\1/p')
    a mv "id:$id" folder/
    [ "$(names)" = "folder/a folder/b folder/c " ]
    [ "$(a cat folder/b)" = deep/b ]
    expect_status 2 a mv folder/a ''
    echo again >"$scratch/a"
    a -q put "$scratch/a"
    expect_status 5 a mv a folder/
    a --json mv a top | grep -q '"renamed" : "a", "name" : "top"'
}

# Drivers can write names that no local folder has room for: each is told of, and the others come.
case_get_loses_nothing_silently() {
    fresh whole
    start_server "$store"
    for name in slash/ clash clash/inner fine; do
        printf %s "$name" >"$scratch/content"
        "$ASHLAR" -s "mongodb://$server_address/" gridfs -l "$scratch/content" put "$name" >"$scratch/said" 2>&1
    done
    stop_server
    expect_status 3 a get -r . "$scratch/out-get"
    grep -q 'slash/' "$scratch/err"
    grep -q 'clash/inner' "$scratch/err"
    [ "$(grep -c . "$scratch/err")" = 2 ]
    [ "$(cat "$scratch/out-get/fine")" = fine ]
    [ "$(cat "$scratch/out-get/clash")" = clash ]
    [ "$(cat "$scratch/out-get/whole")" = whole ]
    expect_status 3 a -n get -r . "$scratch/out-dry"
    a get slash/ "$scratch/alone"
    [ "$(cat "$scratch/alone")" = slash/ ]
    # An empty folder is kept as such a name, without bytes.
    mkdir -p "$scratch/tree/empty"
    fresh
    a -q put -r "$scratch/tree"
    a get -r . "$scratch/out-tree"
    [ -d "$scratch/out-tree/empty" ]
}

case_a_folder_is_no_prefix() {
    set -- docs docs.bak docs/a docs/b/c docs2/d 'docs file' other
    fresh "$@"
    [ "$(names docs)" = "docs docs/a docs/b/c " ]
    [ "$(names docs/)" = "docs/a docs/b/c " ]
    [ "$(names docs/b)" = "docs/b/c " ]
    [ "$(a ls --prefix docs | wc -l)" = 6 ]
    [ "$(a ls . | wc -l)" = 7 ]
    fresh docs.bak docs/a docs/b/c docs2/d
    a get -r docs "$scratch/out-folder" | grep -qx "got 2 files (14 B) into $scratch/out-folder"
    [ "$(ls "$scratch/out-folder")" = docs ]
    a get --prefix docs "$scratch/out-prefix"
    [ "$(ls "$scratch/out-prefix" | tr '\n' ' ')" = "docs docs.bak docs2 " ]
    a -n rm -r docs | grep -qx 'would delete 2 files (14 B) of docs'
    a rm -r docs | grep -qx 'deleted 2 files (14 B) of docs'
    [ "$(names)" = "docs.bak docs2/d " ]
    expect_status 4 a rm -r docs
    grep -q 'no file and no folder is named docs' "$scratch/err"
    a --json rm --prefix docs | grep -qx '{ "deleted" : "docs", "files" : 2, "bytes" : 15 }'
    [ -z "$(names)" ]
}

case_what_is_not_there() {
    fresh here
    expect_status 4 a ls nosuch
    grep -q 'no file and no folder is named nosuch' "$scratch/err"
    expect_status 4 a ls her
    a ls --prefix her
    expect_status 4 a get -r her "$scratch/none"
    expect_status 4 a rm her
    a rm -f her
    a rm -rf her
    expect_status 0 a rm -f her here nobody
    [ -z "$(a ls)" ]
}

case_what_rm_says() {
    fresh one two two
    a rm one | grep -qx 'deleted one (3 B)'
    a rm two | grep -qx 'deleted two (2 revisions, 6 B)'
    fresh one two two
    a -n rm two | grep -qx 'would delete two (2 revisions, 6 B)'
    a rm two@0 | grep -qx 'deleted two@0 (3 B)'
    a --json rm two | grep -qx '{ "deleted" : "two", "files" : 1, "bytes" : 3 }'
    [ -z "$(a -q rm one)" ]
}

case_what_get_says() {
    fresh one
    cd "$scratch"
    a get one | grep -qx 'got one (3 B)'
    [ "$(a get one -)" = one ]
    [ -z "$(a -q get one)" ]
    a --json get one | grep -q '"name" : "one"'
}

case_a_new_store_is_told_of() {
    mkdir "$scratch/new"
    cd "$scratch/new"
    "$ASHLAR" -s one init | grep -qx 'made a new store at one'
    "$ASHLAR" -s one init | grep -qx 'one is already a store'
    "$ASHLAR" -s two --json init | grep -qx '{ "store" : "two", "made" : true }'
    echo x | "$ASHLAR" -s three put - x 2>err >out
    grep -qx 'ashlar put: made a new store at three' err
    grep -qx 'kept standard input as x (2 B)' out
    echo x | "$ASHLAR" -s three put - x 2>err >out
    [ ! -s err ]
    echo x | "$ASHLAR" -q -s four put - x 2>err
    [ ! -s err ]
    for words in 'cat x' 'get x' 'stat x' 'copy --all mistyped other'; do
        expect_status 4 "$ASHLAR" -s mistyped $words
        grep -q 'there is no store at mistyped$' "$scratch/err"
        [ ! -e mistyped ]
    done
    for words in ls 'rm x' 'mv x y' sweep df check; do
        expect_status 4 "$ASHLAR" -s mistyped $words
        grep -q 'there is no store at mistyped; .* init. makes one' "$scratch/err"
        [ ! -e mistyped ]
    done
}

case_human_sizes() {
    fresh
    head -c 3000000 /dev/zero | a -q put - large
    a ls -lh | grep -q '^ *2\.9 MiB  .*  large$'
    a ls -l | grep -q '^ *3000000  .*  large$'
    a ls --help | grep -q '^usage: ashlar ls'
    a ls --help | grep -q '^      --help '
    [ "$(a ls --help | grep -c '^  -h, ')" = 1 ]
}

run_cases
