#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ashlar tree put -r and get -r: both ways between a local folder and a tree.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
here=$scratch/here
t() {
    "$ASHLAR" -s "$store" tree "$@"
}
fresh() {
    rm -rf "$store" "$here" "$scratch/back"
    "$ASHLAR" -s "$store" init >"$scratch/init"
    mkdir -p "$here/sub/deep" "$here/empty" "$here/a b"
    echo one >"$here/one"
    echo two >"$here/sub/two"
    echo three >"$here/sub/deep/three"
    echo blank >"$here/a b/c"
    : >"$here/nothing"
    touch -d '2001-02-03 04:05:06.789Z' "$here/one"
}
# said TEXT: the last line of what put and get said
said() {
    [ "$(tail -n 1 "$scratch/out")" = "$1" ] && return 0
    echo "# said: $(tail -n 1 "$scratch/out")" >&2
    return 1
}
put() {
    t put -r "$@" >"$scratch/out"
}
get() {
    t get -r "$@" >"$scratch/out"
}

case_there_and_back() {
    fresh
    put "$here" docs
    said '5 new, 0 changed, 0 deleted, 0 unchanged'
    get docs "$scratch/back"
    said '5 new, 0 changed, 0 deleted, 0 unchanged'
    diff -r "$here" "$scratch/back"
    [ "$(stat -c %y "$here/one" | cut -c 1-23)" = "$(stat -c %y "$scratch/back/one" | cut -c 1-23)" ]
    put "$here" docs
    said '0 new, 0 changed, 0 deleted, 5 unchanged'
    get docs "$scratch/back"
    said '0 new, 0 changed, 0 deleted, 5 unchanged'
    put "$here" / # and below the root
    [ "$(t ls | tr '\n' ,)" = 'a b/,docs/,empty/,nothing,one,sub/,' ]
}

case_only_what_changed_is_written() {
    fresh
    put "$here" docs
    echo ONE >"$here/one"
    touch -d '2001-02-03 04:05:06.789Z' "$here/one" # same size, same time: the bytes decide
    touch "$here/sub/two"                            # another time, same bytes: nothing to do
    echo more >>"$here/sub/deep/three"
    echo fresh >"$here/fresh"
    put "$here" docs
    said '1 new, 2 changed, 0 deleted, 3 unchanged'
    [ "$(t cat docs/one)" = ONE ]
    [ "$(t log docs/sub/two | wc -l)" = 1 ]
    [ "$(t log docs/one | wc -l)" = 2 ]
    [ "$(t cat docs/one@1)" = one ]
}

case_quick_trusts_size_and_time() {
    fresh
    put "$here" docs
    echo ONE >"$here/one"
    touch -d '2001-02-03 04:05:06.789Z' "$here/one"
    put --quick "$here" docs
    said '0 new, 0 changed, 0 deleted, 5 unchanged'
    touch "$here/one"
    put --quick "$here" docs
    said '0 new, 1 changed, 0 deleted, 4 unchanged'
    get docs "$scratch/back"
    echo eno >"$scratch/back/one"
    touch -r "$here/one" "$scratch/back/one"
    get --quick docs "$scratch/back"
    said '0 new, 0 changed, 0 deleted, 5 unchanged'
    get docs "$scratch/back"
    said '0 new, 1 changed, 0 deleted, 4 unchanged'
}

case_delete_makes_the_tree_equal() {
    fresh
    put "$here" docs
    rm -r "$here/sub" "$here/nothing"
    put "$here" docs
    said '0 new, 0 changed, 0 deleted, 2 unchanged'
    [ "$(t cat docs/sub/two)" = two ]
    put -n --delete "$here" docs
    said 'would be: 0 new, 0 changed, 3 deleted, 2 unchanged'
    grep -q '^would be deleted /docs/sub$' "$scratch/out"
    [ "$(t cat docs/sub/two)" = two ]
    put --delete "$here" docs
    said '0 new, 0 changed, 3 deleted, 2 unchanged'
    get docs "$scratch/back"
    diff -r "$here" "$scratch/back"
    t -q undelete docs/sub
    [ "$(t cat docs/sub/deep/three)" = three ]
    expect_status 2 t put --delete "$here" docs
    expect_status 2 t put -r --delete "$here" "$here" docs
    expect_status 2 t put -r --delete "$here/missing" docs
}

case_delete_makes_the_folder_equal() {
    fresh
    put "$here" docs
    get docs "$scratch/back"
    echo own >"$scratch/back/own"
    mkdir -p "$scratch/back/more/less"
    echo own >"$scratch/back/more/less/own"
    ln -s nowhere "$scratch/back/link"
    get docs "$scratch/back"
    said '0 new, 0 changed, 0 deleted, 5 unchanged'
    [ -e "$scratch/back/own" ]
    get -n --delete docs "$scratch/back"
    said 'would be: 0 new, 0 changed, 3 deleted, 5 unchanged'
    [ -e "$scratch/back/own" ]
    get --delete docs "$scratch/back"
    said '0 new, 0 changed, 3 deleted, 5 unchanged'
    diff -r "$here" "$scratch/back"
    expect_status 2 t get -r --delete docs
    expect_status 2 t get --delete docs "$scratch/back"
}

# What is a file on one side and a folder on the other.
case_kinds_change() {
    fresh
    put "$here" docs
    rm -r "$here/sub" "$here/one"
    echo file >"$here/sub"
    mkdir "$here/one"
    echo inside >"$here/one/inside"
    expect_status 3 t put -r "$here" docs
    grep -q 'sub: is a folder in the tree and a file here; --delete' "$scratch/err"
    grep -q 'one: is a file in the tree and a folder here; --delete' "$scratch/err"
    [ "$(t cat docs/one)" = one ]
    get docs "$scratch/back"
    put --delete "$here" docs
    said '2 new, 0 changed, 3 deleted, 2 unchanged'
    [ "$(t cat docs/sub)" = file ]
    [ "$(t cat docs/one/inside)" = inside ]
    expect_status 3 t get -r docs "$scratch/back"
    [ "$(cat "$scratch/back/one")" = one ]
    get --delete docs "$scratch/back"
    said '2 new, 0 changed, 3 deleted, 2 unchanged'
    diff -r "$here" "$scratch/back"
}

case_links_and_special_files_are_left_out() {
    fresh
    ln -s one "$here/link"
    ln -s sub "$here/folder link"
    mkfifo "$here/pipe"
    expect_status 0 t put -r "$here" docs
    said '5 new, 0 changed, 0 deleted, 0 unchanged, 3 left out'
    grep -q "warning: left out $here/link: it is a symbolic link" "$scratch/err"
    grep -q 'it is a pipe' "$scratch/err"
    expect_status 4 t stat docs/link
    # A link that is in the way of a file gives way, and what it led to stays.
    mkdir "$scratch/back"
    echo mine >"$scratch/mine"
    ln -s "$scratch/mine" "$scratch/back/one"
    get docs "$scratch/back"
    [ "$(cat "$scratch/mine")" = mine ]
    [ "$(cat "$scratch/back/one")" = one ]
    # A folder is not reached by way of one.
    rm -r "$scratch/back"
    mkdir "$scratch/back" "$scratch/elsewhere"
    ln -s "$scratch/elsewhere" "$scratch/back/sub"
    expect_status 3 t get -r docs "$scratch/back"
    [ -z "$(ls "$scratch/elsewhere")" ]
}

case_what_fails_is_told_and_passed_over() {
    fresh
    [ "$(id -u)" != 0 ] || skip 'root reads everything'
    chmod 0 "$here/one" "$here/sub"
    expect_status 3 t put -r "$here" docs
    chmod 755 "$here/one" "$here/sub"
    said '3 new, 0 changed, 0 deleted, 0 unchanged'
    put "$here" docs
    chmod 0 "$here/sub"
    expect_status 3 t put -r --delete "$here" docs # what cannot be seen is not deleted
    chmod 755 "$here/sub"
    [ "$(t cat docs/sub/two)" = two ]
}

case_names_that_cannot_be() {
    fresh
    : >"$here/$(printf 'bad\377')"
    expect_status 3 t put -r "$here" docs
    said '5 new, 0 changed, 0 deleted, 0 unchanged'
    mkdir "$scratch/only"
    : >"$scratch/only/$(printf 'bad\377')"
    expect_status 2 t put -r "$scratch/only" other
}

case_several_folders_go_by_their_names() {
    fresh
    put "$here/sub" "$here/one" "$here/a b/" docs
    [ "$(t ls -R docs | tr '\n' ,)" = 'a b/,a b/c,one,sub/,sub/deep/,sub/deep/three,sub/two,' ]
    (cd "$scratch" && rm -rf docs && "$ASHLAR" -s "$store" tree -q get -r docs/sub && diff -r sub "$here/sub")
}

case_json() {
    fresh
    put --json "$here" docs
    grep -q '"path" : "/docs/sub/two".*"change" : "new" }$' "$scratch/out"
    said '{ "new" : 5, "changed" : 0, "deleted" : 0, "unchanged" : 0, "leftOut" : 0, "failed" : 0, "bytes" : 20 }'
    rm "$here/one"
    put --json --delete "$here" docs
    grep -q '^{ "path" : "/docs/one", "change" : "deleted" }$' "$scratch/out"
    get --json docs "$scratch/back"
    said '{ "new" : 4, "changed" : 0, "deleted" : 0, "unchanged" : 0, "leftOut" : 0, "failed" : 0, "bytes" : 16 }'
    put -v "$here" docs
    grep -q '0 new, 0 changed, 0 deleted, 4 unchanged' "$scratch/out"
    t -q put -r "$here" docs >"$scratch/out"
    [ ! -s "$scratch/out" ]
}

case_the_state_of_then() {
    fresh
    put "$here" docs
    sleep 0.1
    then=$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)
    sleep 0.1
    echo changed >"$here/one"
    rm -r "$here/sub"
    echo added >"$here/added"
    put --delete "$here" docs
    get --at "$then" docs "$scratch/back"
    said '5 new, 0 changed, 0 deleted, 0 unchanged'
    [ "$(cat "$scratch/back/one")" = one ]
    [ ! -e "$scratch/back/added" ]
    get --delete docs "$scratch/back"
    diff -r "$here" "$scratch/back"
    get --delete "docs@{$then}" "$scratch/back"
    said '2 new, 1 changed, 1 deleted, 2 unchanged'
    [ "$(cat "$scratch/back/sub/deep/three")" = three ]
}

case_a_dry_run_makes_nothing() {
    fresh
    rm -r "$store"
    put -n "$here" docs
    said 'would be: 5 new, 0 changed, 0 deleted, 0 unchanged'
    grep -q '^would be new /docs/sub/deep/three$' "$scratch/out"
    [ ! -e "$store" ]
    t put -n "$here/one" x | grep -q "^would put $here/one as x$"
    t mkdir -n x | grep -q '^would make x$'
    expect_status 4 t put -n "$here/missing" x
    [ ! -e "$store" ]
    put "$here" docs
    get -n docs "$scratch/back"
    said 'would be: 5 new, 0 changed, 0 deleted, 0 unchanged'
    [ ! -e "$scratch/back" ]
}

case_through_a_server() {
    fresh
    start_server "$store"
    put "$here" docs
    said '5 new, 0 changed, 0 deleted, 0 unchanged'
    store=mongodb://$server_address/test
    echo ONE >"$here/one"
    rm -r "$here/sub"
    head -c 300000 /dev/urandom >"$here/large"
    put --delete "$here" docs
    said '1 new, 1 changed, 2 deleted, 2 unchanged'
    get docs "$scratch/back"
    diff -r "$here" "$scratch/back"
    t -q restore docs/one@1
    [ "$(t cat docs/one)" = one ]
    t -q undelete docs/sub
    t check >"$scratch/out"
    stop_server
}

# Whatever a killed one had done is there whole, and typed again it does the rest.
case_a_killed_put_goes_on() {
    fresh
    mkdir "$here/many"
    i=0
    while [ $i -lt 300 ]; do
        head -c 20000 /dev/urandom >"$here/many/$i"
        i=$((i + 1))
    done
    # Sooner and sooner, until it is killed before its end.
    for delay in 0.15 0.08 0.04 0.02 0.01; do
        "$ASHLAR" -s "$store" tree put -r "$here" docs >"$scratch/out" 2>&1 & # not t: its shell would be killed
        pid=$!
        sleep $delay
        kill -9 $pid 2>/dev/null || true
        got=0
        wait $pid || got=$?
        [ $got = 0 ] || break
        rm -rf "$store"
        "$ASHLAR" -s "$store" init >"$scratch/init"
    done
    [ $got = 137 ]
    put "$here" docs
    grep -q '^[0-9]* new, 0 changed, 0 deleted, [0-9]* unchanged$' "$scratch/out"
    get docs "$scratch/back"
    diff -r "$here" "$scratch/back"
    t check >"$scratch/out"
    put "$here" docs
    said '0 new, 0 changed, 0 deleted, 305 unchanged'
}

case_an_interrupted_put_says_so() {
    fresh
    i=0
    while [ $i -lt 40 ]; do
        head -c 2000000 /dev/urandom >"$here/$i"
        i=$((i + 1))
    done
    got=0
    timeout --foreground --preserve-status -s INT 0.3 "$ASHLAR" -s "$store" tree put -r "$here" docs >"$scratch/out" 2>"$scratch/err" || got=$?
    [ $got = 130 ] || [ $got = 0 ]
    [ $got = 0 ] || grep -q 'interrupted' "$scratch/err"
    put "$here" docs
    get docs "$scratch/back"
    diff -r "$here" "$scratch/back"
}

case_the_store_keeps_out_of_itself() {
    fresh
    mv "$store" "$here/store"
    store=$here/store
    expect_status 0 t put -r "$here" docs
    grep -q "skipped $here/store: it is the store itself" "$scratch/err"
    expect_status 4 t stat docs/store
    rm "$here/one"
    put --delete "$here" docs
    t -q rm -r docs/sub
    expect_status 0 t get -r --delete docs "$here"
    [ ! -e "$here/sub" ]
    t check >"$scratch/out"
    mkdir "$here/around"
    mv "$store" "$here/around/store"
    store=$here/around/store
    expect_status 3 t get -r --delete docs "$here"
    grep -q 'the store lies in it' "$scratch/err"
    t check >"$scratch/out"
}

# lose NAME: the content of a local file, by way of the contents' bucket
lose() {
    "$ASHLAR" -s "$store" -b v7.fs --json ls >"$scratch/files"
    id=$(python3 - "$here/$1" "$scratch/files" <<'END'
import base64, hashlib, json, sys
wanted = base64.b64encode(hashlib.sha256(open(sys.argv[1], 'rb').read()).digest()).decode()
ids = [json.loads(line)['id'] for line in open(sys.argv[2])]
print(json.dumps([i for i in ids if i['$binary']['base64'] == wanted][0]))
END
    )
    "$ASHLAR" -s "$store" -b v7.fs -q rm "id:$id"
}

# A file is unchanged only where its bytes are in the store, too.
case_lost_contents_come_back() {
    command -v python3 >/dev/null || skip "no python3"
    fresh
    head -c 300000 /dev/urandom >"$here/large"
    seq 1 1000 >"$here/small"
    put "$here" docs
    for quick in '' --quick; do
        lose large
        lose small
        expect_status 7 t check
        put -n $quick "$here" docs
        said 'would be: 0 new, 0 changed, 0 deleted, 5 unchanged, 2 healed'
        grep -q '^would be healed /docs/large$' "$scratch/out"
        expect_status 7 t check
        put $quick "$here" docs
        said '0 new, 0 changed, 0 deleted, 5 unchanged, 2 healed'
        expect_status 0 t check
        t cat docs/large | cmp - "$here/large"
        t cat docs/small | cmp - "$here/small"
    done
    [ "$(t log docs/large | wc -l)" = 1 ]
    lose small
    put --json "$here" docs
    grep -q '"path" : "/docs/small".*"version" : 1.*"change" : "healed" }$' "$scratch/out"
    said '{ "new" : 0, "changed" : 0, "deleted" : 0, "unchanged" : 6, "healed" : 1, "leftOut" : 0, "failed" : 0, "bytes" : 3893 }'
}

# What is there and is damaged is found by reading it, which has to be asked for.
case_damaged_contents_come_back() {
    command -v python3 >/dev/null || skip "no python3"
    fresh
    head -c 300000 /dev/urandom >"$here/large"
    put "$here" docs
    python3 - "$store" "$here/large" <<'END'
import glob, sys
some = open(sys.argv[2], 'rb').read()[1000:1032]
hits = 0
for path in glob.glob(sys.argv[1] + '/segments/*'):
    data = bytearray(open(path, 'rb').read())
    at = data.find(some)
    if at >= 0:
        data[at] ^= 1
        hits += 1
        open(path, 'r+b').write(data)
assert hits > 0, 'no such bytes'
END
    expect_status 7 t cat docs/large
    put "$here" docs
    said '0 new, 0 changed, 0 deleted, 6 unchanged'
    put --verify "$here" docs
    said '0 new, 0 changed, 0 deleted, 5 unchanged, 1 healed'
    t cat docs/large | cmp - "$here/large"
    t check >"$scratch/out"
    put --quick --verify "$here" docs
    said '0 new, 0 changed, 0 deleted, 6 unchanged'
    expect_status 2 t put --verify "$here/one" docs
}

run_cases
