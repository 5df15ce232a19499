#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a word on the command line stands for: a name, a revision, an id, a folder; and what is said when it is none.
. "$(dirname "$0")/../lib.sh"

ashlar() {
    "$ASHLAR" -s "$scratch/store" "$@"
}

fresh() {
    rm -rf "$scratch/store" "$scratch/tree"
    echo one >"$scratch/one"
    echo two >"$scratch/two"
}

# exits STATUS COMMAND...   its output is in $scratch/out
exits() {
    wanted=$1
    shift
    status=0
    "$@" >"$scratch/out" 2>&1 || status=$?
    [ "$status" = "$wanted" ] || { cat "$scratch/out"; echo "status $status"; return 1; }
}

case_a_whole_name_comes_first() {
    fresh
    ashlar -q put "$scratch/one" id:zzz
    ashlar -q put "$scratch/two" v@1
    [ "$(ashlar cat id:zzz)" = one ]
    [ "$(ashlar cat v@1)" = two ]
    ashlar -q put --id 42 "$scratch/two" other
    [ "$(ashlar cat id:42)" = two ]
    ashlar -q put "$scratch/one" id:42
    [ "$(ashlar cat id:42)" = one ]
    ashlar -q rm id:42
    [ "$(ashlar cat id:42)" = two ]
    exits 2 ashlar cat id:nothing
    grep 'neither an ObjectId' "$scratch/out"
}

case_ls_takes_what_others_take() {
    fresh
    ashlar -q put "$scratch/one" a
    ashlar -q put "$scratch/two" a
    ashlar -q put --id 42 "$scratch/one" b
    ashlar -q put "$scratch/one" docs/c
    [ "$(ashlar ls a docs | tr '\n' ' ')" = 'a docs/c ' ]
    [ "$(ashlar ls a@0)" = a ]
    [ "$(ashlar ls -a a | wc -l)" = 2 ]
    [ "$(ashlar ls id:42)" = b ]
    exits 3 ashlar ls a nothing docs
    grep -x docs/c "$scratch/out"
    grep 'no file and no folder is named nothing' "$scratch/out"
    exits 4 ashlar ls nothing
    exits 4 ashlar ls 'do*'
    grep -e '--prefix do lists' "$scratch/out"
    exits 4 ashlar ls '*'
    grep 'without a NAME everything is listed' "$scratch/out"
}

# A "." is everything for -r, and a beginning like any other for --prefix.
case_a_dot_is_no_prefix() {
    fresh
    ashlar -q put "$scratch/one" a
    exits 4 ashlar rm --prefix .
    exits 4 ashlar get --prefix . "$scratch/got"
    exits 4 ashlar ls --prefix .
    ashlar ls | grep -x a
}

case_nothing_there_is_said() {
    fresh
    ashlar -q put "$scratch/one" a
    exits 4 ashlar -b nowhere rm -r .
    grep 'there is no bucket nowhere' "$scratch/out"
    exits 2 ashlar mv a a
    grep 'its name already' "$scratch/out"
    exits 2 ashlar put --replace --if-absent "$scratch/one" b
}

# What was kept is said, and nothing of revisions that there are not.
case_if_absent_makes_no_revisions() {
    fresh
    mkdir "$scratch/tree"
    cp "$scratch/one" "$scratch/two" "$scratch/tree"
    ashlar -q put -r "$scratch/tree"
    exits 3 ashlar put -r --if-absent "$scratch/tree"
    fails grep 'more revision' "$scratch/out"
    ashlar put -r "$scratch/tree" 2>&1 | grep 'more revision'
}

case_sums_of_strange_names_check() {
    fresh
    name=$(printf 'with\nnewline and \\ in it')
    cp "$scratch/one" "$scratch/$name"
    ashlar -q put "$scratch/$name"
    [ "$(ashlar sum "$name")" = "$(cd "$scratch" && sha256sum "$name")" ]
    cd "$scratch" && ashlar sum "$name" | sha256sum -c
}

case_df_of_one_database() {
    fresh
    ashlar -q -d first put "$scratch/one"
    ashlar -q -d second put "$scratch/two"
    ashlar df | grep -w second
    ashlar -d first df | grep -w first
    ashlar -d first df | fails grep -w second
}

run_cases
