#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ashlar tree restore: versions and folders become what they were.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
t() {
    "$ASHLAR" -s "$store" tree "$@"
}
fresh() {
    rm -rf "$store"
    "$ASHLAR" -s "$store" init >"$scratch/init"
}
# put PATH TEXT
put() {
    printf '%b' "$2" | t -q put - "$1"
}
now() {
    sleep 0.02
    date -u +%Y-%m-%dT%H:%M:%S.%3NZ
    sleep 0.02
}
# All that lies below a folder, with its contents.
state() {
    t --json ls -R "$@" | sed 's/"id".*"folder"/"folder"/;s/"created".*//'
}
# d as it was, and what became of it.
make_past() {
    fresh
    put d/same same
    put d/changed one
    put d/gone gone
    put d/old/in in
    put d/out/file out
    then=$(now)
    state "d@{$then}" >"$scratch/then"
    put d/changed two
    t -q rm d/gone
    t -q mv d/old d/renamed
    put d/renamed/in more
    put d/new new
    put d/newer/new new
    t -q mv d/out elsewhere
}

case_a_folder_becomes_what_it_was() {
    make_past
    t restore -r "d@{$then}" >"$scratch/out"
    cat >"$scratch/wanted" <<END
restored /d/changed
brought back /d/gone
moved back /d/renamed to /d/old/
restored /d/old/in
brought back /d/out/
brought back /d/out/file
removed /d/new
removed /d/newer/
3 brought back, 2 restored, 1 moved back, 2 removed, 1 unchanged
END
    diff "$scratch/wanted" "$scratch/out"
    state d >"$scratch/now"
    diff "$scratch/then" "$scratch/now"
    [ "$(t cat elsewhere/file)" = out ]
    [ "$(t log d/gone | wc -l)" = 3 ]
    t -q undelete d/newer
    [ "$(t cat d/newer/new)" = new ]
    t -q restore -r --at "$then" d
    [ "$(t restore -r "d@{$then}")" = '0 brought back, 0 restored, 0 moved back, 0 removed, 5 unchanged' ]
}

case_dry_runs_change_nothing() {
    make_past
    state d >"$scratch/before"
    t restore -n -r "d@{$then}" >"$scratch/plan"
    state d >"$scratch/after"
    diff "$scratch/before" "$scratch/after"
    t restore -r "d@{$then}" >"$scratch/out"
    sed 's/^would restore /restored /;s/^would bring back /brought back /;s/^would move back /moved back /
        s/^would remove /removed /;s/^would be: //' "$scratch/plan" | diff "$scratch/out" -
    [ "$(grep -c '^would' "$scratch/plan")" = 9 ]
}

# as_planned FOLDER TIME: restore -n -r says what restore -r does, and changes nothing.  What lies in a folder that would move is told
# where it is.
as_planned() {
    state "$1" >"$scratch/before"
    t restore -n -r "$1@{$2}" >"$scratch/plan"
    state "$1" >"$scratch/after"
    diff "$scratch/before" "$scratch/after"
    t restore -r "$1@{$2}" >"$scratch/out"
    sed 's,^would remove /d/in-a/new$,removed /d/in-b/new,
        s/^would restore /restored /;s/^would bring back /brought back /;s/^would move back /moved back /
        s/^would remove /removed /;s/^would be: //' "$scratch/plan" | diff "$scratch/out" -
}

# What takes the place of another that takes its own.
case_names_that_were_exchanged() {
    fresh
    for name in a b c; do
        put d/$name $name
        put d/in-$name/file "file of $name"
        put d/in-$name/more/deep "deep in $name"
    done
    then=$(now)
    state "d@{$then}" >"$scratch/then"
    for prefix in d/ d/in-; do
        t -q mv ${prefix}a ${prefix}x
        t -q mv ${prefix}b ${prefix}a
        t -q mv ${prefix}x ${prefix}b
    done
    put d/in-a/new new
    as_planned d "$then"
    state d | diff "$scratch/then" -
    then=$(now)
    for prefix in d/ d/in-; do
        t -q mv ${prefix}a ${prefix}x
        t -q mv ${prefix}b ${prefix}a
        t -q mv ${prefix}c ${prefix}b
        t -q mv ${prefix}x ${prefix}c
    done
    t -q mv d/in-c/more d/more
    t -q rm d/in-b/file
    as_planned d "$then"
    state d | diff "$scratch/then" -
    t check | grep -q ^clean
}

case_a_folder_that_was_deleted() {
    make_past
    t -q rm -r d
    t --json restore -r "/d@{$then}" >"$scratch/out"
    state d >"$scratch/now"
    diff "$scratch/then" "$scratch/now"
    head -n 1 "$scratch/out" | grep -q '"path" : "/d", .*"change" : "created" }$'
    tail -n 1 "$scratch/out" | grep -q '^{ "created" : .*"failed" : 0 }$'
}

case_the_whole_tree() {
    make_past
    t -q restore -r "/@{$then}"
    state / | grep -v '"path" : "/d",' >"$scratch/now"
    diff "$scratch/then" "$scratch/now"
}

case_folders_and_versions() {
    make_past
    t restore "d@{$then}" | grep -q ' (restore -r does it with all below it); what lies in it stays as it is$'
    expect_status 2 t restore -r d
    grep -q 'PATH@{TIME}' "$scratch/err"
    expect_status 2 t restore -r d@1
    grep -q 'd@{TIME} does, and this version began at 20.*Z$' "$scratch/err"
    expect_status 4 t restore -r "d@{1 year ago}"
    t restore -r "d/changed@{$then}" | grep -q '^restored /d/changed as of version 1: now version 3$'
}

case_many_entries() {
    fresh
    mkdir "$scratch/many"
    i=0
    while [ $i -lt 300 ]; do
        echo $i >"$scratch/many/$i"
        i=$((i + 1))
    done
    t -q put -r "$scratch/many" d/a
    for copy in b c e f g h; do
        t -q cp -r d/a d/$copy
    done
    then=$(now)
    t -q rm -r d/a
    t -q cp -r d/b d/a
    for copy in b c e f g; do
        t -q cp -r d/b d/new$copy
    done
    t -q mv d/c d/b/c
    t restore -r "d@{$then}" >"$scratch/out"
    tail -n 1 "$scratch/out" | grep -q ' 1 moved back, 6 removed, '
    [ "$(t diff -r "d@{$then}" d)" = '' ]
}

# A folder of 400 files, half of which are gone and half are others by now.
make_large_past() {
    fresh
    rm -rf "$scratch/many"
    mkdir -p "$scratch/many/gone" "$scratch/many/kept"
    for i in $(seq 1 200); do
        seq $i 400 >"$scratch/many/gone/$i"
        seq $i 300 >"$scratch/many/kept/$i"
    done
    t -q put -r "$scratch/many" d
    then=$(now)
    for i in $(seq 1 200); do
        echo more >>"$scratch/many/kept/$i"
    done
    rm -r "$scratch/many/gone"
    t -q put -r --delete "$scratch/many" d
}

# Whatever a killed one had done is right, and the same again does the rest.
case_killed_and_again() {
    make_large_past
    for pause in 0.05 0.15 0.3; do
        "$ASHLAR" -s "$store" tree -q restore -r "d@{$then}" & # not t: its shell would be killed
        pid=$!
        sleep $pause
        kill -9 $pid 2>/dev/null || true
        wait $pid || true
        t check | grep -q ^clean
    done
    t -q restore -r "d@{$then}"
    [ "$(t diff -r "d@{$then}" d)" = '' ]
    [ "$(t ls -R d | wc -l)" = 402 ]
}

# What others change in the same moment is told and left; nothing is lost, and the same again does the rest.
case_beside_writers() {
    make_large_past
    rm -f "$scratch/wrote"
    for i in $(seq 1 12); do
        t -q put "$0" "d/new/$i"
        t -q put "$0" "d/kept/$((i * 16))" && echo "d/kept/$((i * 16))" >>"$scratch/wrote"
    done 2>"$scratch/writer.err" &
    writer=$!
    rc=0
    t -q restore -r "d@{$then}" 2>"$scratch/err" || rc=$?
    [ $rc = 0 ] || [ $rc = 3 ]
    wait $writer || true
    t check | grep -q ^clean
    # What a writer was told is kept is among the versions.
    while read -r path; do
        found=no
        for version in $(t log "$path" | sed 's/^@\([0-9]*\).*/\1/'); do
            t cat "$path@$version" | fails cmp -s - "$0" || found=yes
        done
        [ $found = yes ]
    done <"$scratch/wrote"
    t -q restore -r "d@{$then}"
    [ "$(t diff -r "d@{$then}" d)" = '' ]
}

run_cases
