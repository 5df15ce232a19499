#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ashlar tree: how much is kept, who may do what, changes as they happen, and damage.
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
# versions PATH: the numbers of those that are there
versions() {
    t log "$1" | sed 's/^@\([0-9]*\).*/\1/' | tr '\n' ' '
}
five() {
    for i in 1 2 3 4 5; do
        put "$1" "$i"
    done
}

case_rules() {
    fresh
    put d/sub/a one
    t keep / | grep -q '^/ keeps all versions$'
    t keep --last 3 --within 30d d | grep -q '^/d keeps 3 before the newest, and what was current within 30d$'
    t keep d/sub/a | grep -q '^/d/sub/a keeps 3 .* (by the rule of /d)$'
    t keep --all d/sub | grep -q '^/d/sub keeps all versions$'
    t --json keep d | grep -q '^{ "path" : "/d", "all" : false, "last" : 3, "withinSeconds" : 2592000, "from" : "/d" }$'
    t keep --by ann --last 7 d/sub >"$scratch/out"
    t log d/sub | head -n 1 | grep -q ' ann  .* what is kept$'
    t keep --inherit d/sub | grep -q '(by the rule of /d)$'
    expect_status 2 t keep --all --last 3 d
    expect_status 2 t keep --last x d
    expect_status 2 t keep --within 3y d
    expect_status 4 t keep nothing
}

case_quotas() {
    fresh
    head -c 60000 /dev/urandom >"$scratch/big"
    t -q put "$scratch/big" d/sub/a
    t quota >"$scratch/out"
    grep -q '^no quota holds at /, or below it$' "$scratch/out"
    t quota d 100k >"$scratch/out"
    grep -q '^/d may have 100.0 KiB, and has 58.6 KiB$' "$scratch/out"
    expect_status 8 t put "$scratch/big" d/b
    grep -q 'over quota: /d may have 102400 bytes and has 60000; 60000 more were to come$' "$scratch/err"
    expect_status 8 t cp d/sub/a d/c
    t -q put "$scratch/big" other
    expect_status 8 t mv other d/other
    mkdir -p "$scratch/local"
    cp "$scratch/big" "$scratch/local/x"
    expect_status 8 t put -r "$scratch/local" d/local
    [ "$(t ls -R d | tr '\n' ' ')" = 'local/ sub/ sub/a ' ]
    t quota --bytes d/sub >"$scratch/out"
    [ "$(tr -s ' ' <"$scratch/out")" = ' 60000 of 102400 /d' ]
    [ "$(t --json quota)" = '{ "path" : "/d", "maxBytes" : 102400, "usedBytes" : 60000 }' ]
    t quota d 1k >"$scratch/out"
    t quota >"$scratch/out"
    grep -q ' of  *1.0 KiB  /d  (over)$' "$scratch/out"
    t -q put "$scratch/big" d/sub/a # nothing more
    t -q rm d/sub/a
    t quota d none >"$scratch/out"
    grep -q '^/d has no quota of its own$' "$scratch/out"
    t -q put "$scratch/big" d/b
    expect_status 2 t quota d much
    expect_status 2 t quota d -- -1
    expect_status 2 t quota d/b 1k
    expect_status 4 t quota nowhere 1k
    t check >"$scratch/out"
}

case_quotas_of_users() {
    fresh
    head -c 60000 /dev/urandom >"$scratch/big"
    t -q put --by ann "$scratch/big" d/sub/a
    t quota --user ann 100k >"$scratch/out"
    grep -q '^user ann may have 100.0 KiB, and has 58.6 KiB$' "$scratch/out"
    expect_status 8 t put --by ann "$scratch/big" b
    grep -q 'over quota: user ann may have 102400 bytes and has 60000; 60000 more were to come$' "$scratch/err"
    expect_status 8 t cp --by ann d/sub/a c
    [ "$(t ls -R / | tr '\n' ' ')" = 'd/ d/sub/ d/sub/a ' ]
    t quota --user ben 0 >"$scratch/out"
    t -q mv --by ben d/sub/a d/moved # hers as before
    t quota d 1M >"$scratch/out"
    t quota --bytes >"$scratch/out"
    [ "$(tr -s ' ' <"$scratch/out" | tr '\n' ';')" = ' 60000 of 1048576 /d; 60000 of 102400 user ann; 0 of 0 user ben;' ]
    t --json quota >"$scratch/out"
    [ "$(tail -n 2 "$scratch/out" | head -n 1)" = '{ "user" : "ann", "maxBytes" : 102400, "usedBytes" : 60000 }' ]
    [ "$(t --json quota --user ben)" = '{ "user" : "ben", "maxBytes" : 0, "usedBytes" : 0 }' ]
    t quota d >"$scratch/out" # of folders alone
    fails grep -q user "$scratch/out"
    t stat d/moved >"$scratch/out"
    grep -q '^By: *ben$' "$scratch/out"
    grep -q '^Author: *ann$' "$scratch/out"
    t --json ls d >"$scratch/out"
    grep -q '"by" : "ben", "author" : "ann"' "$scratch/out"
    t -q put --by ben "$scratch/big" d/moved # the same as before: no new version
    head -c 60000 /dev/urandom >"$scratch/big"
    expect_status 8 t put --by ben "$scratch/big" d/moved # all of it would be his
    t -q put "$scratch/big" d/moved                       # nobody's
    [ "$(t --json quota --user ann)" = '{ "user" : "ann", "maxBytes" : 102400, "usedBytes" : 0 }' ]
    t quota --user ann none >"$scratch/out"
    grep -q '^user ann has no quota$' "$scratch/out"
    expect_status 2 t quota --user ann much
    expect_status 2 t quota --user ann d 1k
    expect_status 2 t quota --user '' 1k
    t check >"$scratch/out"
}

# Of several processes at a quota, as many are served as fit, and not one more.
case_a_quota_of_several_processes() {
    fresh
    head -c 1000 /dev/urandom >"$scratch/big"
    t -q mkdir d d/0 d/1
    t quota d 12500 >"$scratch/out"
    start_server "$store"
    for who in 1 2 3; do
        (for i in 1 2 3 4 5 6 7 8; do
            t -q put "$scratch/big" "d/$((who % 2))/$who-$i" 2>>"$scratch/refused.$who" || :
        done) &
        eval "writer$who=$!"
    done
    # shellcheck disable=SC2154 # by eval
    wait "$writer1" "$writer2" "$writer3"
    [ "$(t ls -R d | grep -c -)" = 12 ]
    [ "$(cat "$scratch"/refused.* | grep -c 'over quota: /d may have 12500 bytes and has 12000; 1000 more were to come$')" = 12 ]
    [ "$(t --json quota)" = '{ "path" : "/d", "maxBytes" : 12500, "usedBytes" : 12000 }' ]
    t check >"$scratch/out"
    stop_server
}

# The same as a client of MongoDB's, which a deployment of MongoDB's own would be to: transactions overlap there.
case_quotas_by_mongodb() {
    fresh
    head -c 1000 /dev/urandom >"$scratch/big"
    start_server "$store"
    r() {
        "$ASHLAR" -s "mongodb://$server_address/test" tree "$@"
    }
    r -q mkdir d d/0 d/1
    r quota d 9500 >"$scratch/out"
    r quota --user ann 4000 >"$scratch/out"
    rm -f "$scratch"/refused.*
    for who in 1 2 3; do
        by=$([ $who = 3 ] && echo ben || echo ann)
        (for i in 1 2 3 4 5 6 7 8; do
            r -q put --by "$by" "$scratch/big" "d/$((who % 2))/$who-$i" 2>>"$scratch/refused.$who" || :
        done) &
        eval "writer$who=$!"
    done
    wait "$writer1" "$writer2" "$writer3"
    [ "$(r ls -R d | grep -c '/[12]-')" = 4 ]
    [ "$(cat "$scratch"/refused.[12] | grep -c 'over quota: ')" = 12 ]
    fails grep -v 'over quota: ' "$scratch"/refused.*
    expect_status 8 r put --by ann "$scratch/big" other
    grep -q 'over quota: user ann may have 4000 bytes and has 4000; 1000 more were to come$' "$scratch/err"
    expect_status 8 r cp --by ann d/1/3-1 other
    r -q mv --by ann d/1/3-1 moved
    r --json quota >"$scratch/out"
    used=$(r ls -R d | grep -c -)
    grep -q "\"path\" : \"/d\", \"maxBytes\" : 9500, \"usedBytes\" : ${used}000 }" "$scratch/out"
    grep -q '"user" : "ann", "maxBytes" : 4000, "usedBytes" : 4000 }' "$scratch/out"
    r -q rm -r d
    [ "$(r --json quota --user ann)" = '{ "user" : "ann", "maxBytes" : 4000, "usedBytes" : 0 }' ]
    r check >"$scratch/out"
    stop_server
}

case_prune() {
    fresh
    five d/a
    five b
    t -q tag d/a@2 good
    t prune | grep -q '^forgot 0 versions'
    t prune -n --last 1 d | grep -q '^would forget /d/a@1$'
    [ "$(versions d/a)" = '5 4 3 2 1 ' ]
    t prune --last 1 d | grep -q '^forgot 2 versions (2 B)$'
    [ "$(versions d/a)" = '5 4 2 ' ]
    [ "$(t cat d/a@2)" = 2 ]
    expect_status 4 t cat d/a@1
    [ "$(versions b)" = '5 4 3 2 1 ' ]
    t -q keep --last 2 /
    t --json prune >"$scratch/out"
    [ "$(grep -c '"path" : "/b"' "$scratch/out")" = 2 ]
    [ "$(versions b)" = '5 4 3 ' ]
    t prune --within 1h | grep -q '^forgot 0 versions'
    t rm -r d b
    t --json prune -n --last 0 >"$scratch/out"
    grep -q '"path" : "/b", .*"deleted" : true' "$scratch/out"
    t prune -n --last 0 >"$scratch/out"
    said=$(sed -n 's/^would forget \([0-9]*\) versions .*/\1/p' "$scratch/out")
    [ "$(grep -c '^would forget /[^ ]*@[0-9]*$' "$scratch/out")" = "$said" ]
    grep -q '^would forget /b@6 (its deletion)$' "$scratch/out"
    fails grep -q '"1970-' "$scratch/out"
}

# Each version where it lay.
case_what_is_said_of_nothing() {
    fresh
    put d/a one
    [ "$(t --json prune)" = '{ "versions" : 0, "bytes" : 0 }' ]
    [ "$(t --json prune -n)" = '{ "versions" : 0, "bytes" : 0, "dryRun" : true }' ]
    [ "$(t --json gc)" = '{ "lookedAt" : 0, "contents" : 0, "bytes" : 0, "young" : 0, "dryRun" : false }' ]
    put d/a two
    [ "$(t --json prune --last 0 | tail -n 1)" = '{ "versions" : 1, "bytes" : 3 }' ]
    t keep --within '1 day 90 minutes 5 seconds' d | grep -q 'what was current within 1d 1h 30m 5s$'
    t keep --within 'yesterday 00:00' d | grep -q 'what was current within 1d[ 0-9hms]*$'
}

# A large folder goes in many commits.
case_removing_was_interrupted() {
    fresh
    mkdir "$scratch/large"
    (cd "$scratch/large" && seq 1 12000 | xargs touch)
    t -q put -r "$scratch/large" d
    "$ASHLAR" -s "$store" tree rm -r d >"$scratch/out" 2>"$scratch/err" &
    pid=$!
    sleep 0.3
    kill -INT $pid
    got=0
    wait $pid || got=$?
    [ $got != 0 ] || skip "it was faster"
    [ $got = 130 ]
    grep -q 'the same again removes the rest' "$scratch/err"
    t -q rm -r d
    t undelete d
    [ "$(t ls d | wc -l)" = 12000 ]
}

case_prune_says_where_versions_lay() {
    fresh
    put a/sub/f 1
    t -q mkdir b
    t -q mv a/sub b
    t -q rm -r b
    t -q undelete b
    t -q mv b/sub a
    put g 1
    t -q mv g b/h
    put b/h 2
    t prune -n --last 0 | grep -e sub@ -e /g -e /h >"$scratch/out"
    cat >"$scratch/wanted" <<END
would forget /b/h@2
would forget /g@1
would forget /b/sub@4
would forget /b/sub@3 (its deletion)
would forget /b/sub@2
would forget /a/sub@1
END
    sort "$scratch/wanted" >"$scratch/wanted.sorted"
    sort "$scratch/out" | diff "$scratch/wanted.sorted" -
}

case_contents_that_nobody_has() {
    fresh
    head -c 100000 /dev/urandom >"$scratch/one"
    head -c 100000 /dev/urandom >"$scratch/two"
    t -q put "$scratch/one" a
    t -q put "$scratch/two" a
    t gc --min-age 0 | grep -q '^looked at [12] contents\{0,1\}, deleted 0'
    t -q prune --last 0
    t gc | grep -q 'deleted 0 (0 B); 1 unused, but too young to go$'
    t gc -n --min-age 0 >"$scratch/out"
    grep -q "^would delete $(sha256sum <"$scratch/one" | cut -c 1-64)$" "$scratch/out"
    grep -q ' would delete 1 ' "$scratch/out"
    t --json gc --min-age 0 | grep -q '"digest" : "[0-9a-f]*", "stored" : [0-9]*, "dryRun" : false'
    t cat a | cmp - "$scratch/two"
    t check | grep -q '^clean: 1 entry, 0 earlier versions, 1 content '
    expect_status 2 t gc --min-age soon
}

case_how_much_there_is() {
    fresh
    head -c 100000 /dev/urandom >"$scratch/big"
    t -q put "$scratch/big" d/a
    t -q cp d/a d/b
    t -q cp d/a c
    put c small
    t --json du d >"$scratch/out"
    grep -q '"path" : "d", "folders" : 1, "files" : 2, "bytes" : 200000, "versions" : 0, ' "$scratch/out"
    t du | grep -q '^files  *3  *195.3 KiB$'
    t du | grep -q '^earlier versions  *1  *97.7 KiB$'
    t du | grep -q '^contents, in all  *1  *97.'
    expect_status 4 t du nothing
}

case_access_lists() {
    fresh
    put d/a one
    t acl d | grep -q 'everybody may do everything'
    t acl --read ann,bob --write ann d >"$scratch/out"
    grep -q '^d, by the list of /d:$' "$scratch/out"
    grep -q '^read   ann, bob$' "$scratch/out"
    grep -q '^write  ann$' "$scratch/out"
    grep -q '^open   (whoever may read)$' "$scratch/out"
    t acl --write '' d | grep -q '^write  (nobody)$'
    t acl d/a | grep -q 'by the list of /d:$'
    t acl --effective bob d/a >"$scratch/out"
    grep -q '^read   yes$' "$scratch/out"
    grep -q '^write  no: ' "$scratch/out"
    t --json acl --effective carl d/a | grep -q '"role" : "carl", "read" : false, "write" : false'
    t --json acl d | grep -q '"from" : "/d", "acl" : { "read" : \[ "ann", "bob" \], "write" : \[  *\] }'
    [ "$(t cat d/a)" = one ] # the owner of the store is not held to it
    t log d | head -n 1 | grep -q " $(id -un)  .* access list\$"
    t acl --inherit --by ann d | grep -q 'everybody may do everything'
    [ "$(t --json log d | head -n 1 | grep -o '"by" : "ann"')" = '"by" : "ann"' ]
    expect_status 4 t acl --effective user:mia d
    printf 'pencil\n' | "$ASHLAR" -s "$store" user add mia --role readWrite@test
    t acl --read user:mia,readWrite --write user:mia@elsewhere d 2>"$scratch/err"
    grep -q 'there is no user mia@elsewhere' "$scratch/err"
    [ "$(wc -l <"$scratch/err")" = 1 ]
    t acl --read mia,raed --write root d 2>"$scratch/err" >"$scratch/out"
    grep -q 'there is no role mia, but a user of that name: .*user:NAME' "$scratch/err"
    grep -q 'there is no role raed: ' "$scratch/err"
    fails grep -q 'no role root' "$scratch/err"
    t acl --read user:mia,readWrite --write user:mia@elsewhere d 2>/dev/null
    t acl --effective user:mia d >"$scratch/out"
    grep -q '^read   yes$' "$scratch/out"
    grep -q '^write  no: ' "$scratch/out"
    t --json acl --effective user:mia | grep -q '"path" : "/", "user" : "mia", "read" : true, "write" : true'
    # Roles that do not reach the tree, and one that there is not.
    printf 'pencil\n' | "$ASHLAR" -s "$store" user add ole --role read@test
    printf 'pencil\n' | "$ASHLAR" -s "$store" user add una --role readWrite 2>"$scratch/err"
    grep -q 'readWrite@admin reaches the database admin alone.* --role readWrite@test' "$scratch/err"
    t --json acl --effective user:ole | grep -q '"read" : true, "write" : false, "open" : true'
    t acl --effective user:una >"$scratch/out"
    grep -q '^read   no: no role .*--role read@test' "$scratch/out"
    grep -q '^write  no: no role .*--role readWrite@test' "$scratch/out"
    t acl --effective olle 2>"$scratch/err" >"$scratch/out"
    grep -q 'there is no role olle' "$scratch/err"
    expect_status 2 t acl --inherit --read x d
    expect_status 4 t acl nothing
}

case_watching() {
    fresh
    put d/a one
    "$ASHLAR" -s "$store" tree watch d >"$scratch/seen" 2>"$scratch/err" &
    watcher=$!
    tries=0
    until grep -q watching "$scratch/err"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    put d/b new
    put d/a two
    t -q mv d/b d/c
    t -q rm d/c
    put other 'not of it'
    tries=0
    until [ "$(wc -l <"$scratch/seen")" -ge 4 ]; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    kill $watcher
    got=0
    wait $watcher || got=$?
    [ $got = 130 ]
    sed 's/^[^ ]*  *//' "$scratch/seen" | tr -s ' ' | tr '\n' , >"$scratch/got"
    [ "$(cat "$scratch/got")" = 'created /d/b,changed /d/a,moved /d/b to /d/c,deleted /d/c,' ]
    expect_status 4 t watch nothing
}

case_damage_is_found() {
    fresh
    head -c 100000 /dev/urandom >"$scratch/big"
    t -q put "$scratch/big" d/a
    put d/b small
    t check | grep -q '^clean: 3 entries, 0 earlier versions, 1 content (97.7 KiB read)$'
    # The content goes, by way of its bucket.
    "$ASHLAR" -s "$store" -b v7.fs --json ls >"$scratch/files"
    id=$(python3 -c 'import json, sys; print(json.dumps(json.loads(sys.stdin.readline())["id"]))' <"$scratch/files")
    "$ASHLAR" -s "$store" -b v7.fs -q rm "id:$id"
    expect_status 7 t check
    grep -q '/d/a' "$scratch/out"
    expect_status 7 t --json check
    grep -q '"finding" : ' "$scratch/out"
    grep -q '"clean" : false' "$scratch/out"
    expect_status 7 t cat d/a
    [ "$(t cat d/b)" = small ]
    expect_status 3 t get -r d "$scratch/back"
    [ "$(cat "$scratch/back/b")" = small ]
    expect_status 7 t check --fast
}

# The documents lie in the metadata, each once with its type: one of them is not what it was.
damage_a_document() { # NAME
    python3 - "$store/meta.mdb" "$1" <<'END'
import sys
path, name = sys.argv[1], sys.argv[2].encode() + b'\x00'
data = bytearray(open(path, 'rb').read())
hits = 0
at = data.find(name)
while at >= 0:
    if data.find(b'contentType', at, at + 200) >= 0:
        data[at] = ord('#')
        hits += 1
    at = data.find(name, at + 1)
assert hits > 0, 'no such document'
open(path, 'r+b').write(data)
END
}

# All but one of a hundred files: in listings, in sums, and brought.
costs_itself() {
    for words in "ls d" "ls -l d" "ls -R"; do
        expect_status 3 t $words
        [ "$(grep -c 'file[0-9]' "$scratch/out")" = 99 ]
        grep -q 'record .*wrong checksum' "$scratch/err"
    done
    expect_status 3 t du
    grep -q '^files  *99 ' "$scratch/out"
    rm -rf "$scratch/back"
    mkdir "$scratch/back"
    echo mine >"$scratch/back/mine"
    expect_status 3 t get -r --delete d "$scratch/back"
    [ "$(ls "$scratch/back" | wc -l)" = 100 ] # what is unknown deletes nothing
    for i in $(seq -w 1 100); do
        [ "$i" = 050 ] || [ "$(t cat d/file$i)" = "content $i" ]
    done
    expect_status 7 t cat d/file050
    printf 'new' | t -q put - d/new
    t -q rm d/new
}

case_a_damaged_document() {
    command -v python3 >/dev/null || skip "no python3"
    fresh
    mkdir -p "$scratch/tree"
    for i in $(seq -w 1 100); do
        printf 'content %s\n' "$i" >"$scratch/tree/file$i"
    done
    for i in $(seq -w 1 100); do
        t -q put --type text/plain "$scratch/tree/file$i" d/file$i
    done
    damage_a_document file050
    costs_itself
    # Whoever collects finds out, and forgets nothing; what can be read can be read after it, too.
    expect_status 7 t gc --min-age 0
    costs_itself
    expect_status 7 t check
    grep -q 'the metadata is damaged' "$scratch/out"
    grep -q 'record .*wrong checksum' "$scratch/out"
    grep -q '^damaged: 100 entries, 4 earlier versions, ' "$scratch/out"
}

# Of an index no more is lost than the way by which it was found: listings find all of it elsewhere.
case_a_damaged_index() {
    command -v python3 >/dev/null || skip "no python3"
    fresh
    mkdir -p "$scratch/tree"
    for i in $(seq -w 1 100); do
        echo "content $i" >"$scratch/tree/file$i"
    done
    t -q put -r "$scratch/tree" d
    python3 - "$store/meta.mdb" <<'END'
import sys
data = bytearray(open(sys.argv[1], 'rb').read())
hits = 0
at = data.find(b'file050')
while at >= 0:
    if data.find(b'filename', max(0, at - 100), at + 100) < 0:
        data[at] = ord('#')
        hits += 1
    at = data.find(b'file050', at + 1)
assert hits > 0, 'no such key'
open(sys.argv[1], 'r+b').write(data)
END
    for noted in no yes; do
        expect_status 3 t ls d
        [ "$(grep -c 'file[0-9]' "$scratch/out")" = 100 ]
        rm -rf "$scratch/back"
        expect_status 3 t get -r d "$scratch/back"
        diff -r "$scratch/tree" "$scratch/back"
        [ "$(t cat d/file049)" = 'content 049' ]
        [ "$(t cat d/file051)" = 'content 051' ]
        expect_status 7 t gc --min-age 0
        expect_status 7 t check
        grep -q 'the metadata is damaged' "$scratch/out"
        grep -q '^damaged: 101 entries, 0 earlier versions' "$scratch/out"
    done
}

case_the_first_list_takes_rights() {
    fresh
    echo 1 | t -q put - d/a
    expect_status 0 t acl --write ann d
    grep -q 'nobody may read d any more, as the list does not say who: --read ROLE,...$' "$scratch/err"
    grep -q '^read   (nobody)$' "$scratch/out"
    expect_status 0 t acl --read bob d
    [ ! -s "$scratch/err" ]
    t -q acl --inherit d
    expect_status 0 t acl --open bob d
    grep -q 'nobody may read or change d any more, as the list does not say who: --read ROLE,... --write ROLE,...$' "$scratch/err"
    t -q acl --inherit d
    expect_status 0 t acl --read bob --write bob d
    [ ! -s "$scratch/err" ]
}

case_sums() {
    fresh
    head -c 2000 /dev/zero | t -q put - d/a
    head -c 48 /dev/zero | t -q put - d/sub/b
    t ls -lR d | tail -n 1 | grep -q '^ *2048  in all, of 2 files; 1 folder$'
    t ls -lh d | tail -n 1 | grep -q '^ *2.0 KiB  in all, of 1 file; 1 folder$'
    t -q ls -l d | fails grep -q 'in all'
    t ls d | fails grep -q 'in all'
    t du -h d | grep -q '^files  *2  *2.0 KiB$'
    t du --bytes d | grep -q '^files  *2  *2048$'
    t du d d/sub | tr -s ' ' >"$scratch/du"
    [ "$(sed -n '1p;5p;9p;11p' "$scratch/du" | tr '\n' ,)" = 'd,d/sub,in all,files 3 2.0 KiB,' ]
    [ "$(grep -c '^contents' "$scratch/du")" = 1 ]
    expect_status 4 t du d nothing
}

case_watching_for_nobody() {
    fresh
    {
        t -q watch || echo $? >"$scratch/status"
    } | true
    [ "$(cat "$scratch/status")" = 141 ]
}

# flip TEXT: one bit of it, wherever it stands in the metadata.
flip() {
    python3 - "$store/meta.mdb" "$1" <<'END'
import sys
path, text = sys.argv[1], sys.argv[2].encode()
data = bytearray(open(path, 'rb').read())
at, hits = data.find(text), 0
while at >= 0:
    data[at] ^= 1
    hits += 1
    at = data.find(text, at + 1)
assert hits > 0, 'no such text'
open(path, 'r+b').write(data)
END
}

# Nothing of a collection can be read whose own row is damaged: that is told, and not asked for again and again.
case_a_damaged_catalogue() {
    command -v python3 >/dev/null || skip "no python3"
    fresh
    put d/a one
    put d/a two
    flip parent_1_filename_1
    for verb in "ls d" "cat d/a" "check" "gc" "du /" "undelete"; do
        rc=0
        timeout 60 "$ASHLAR" -s "$store" tree $verb >"$scratch/out" 2>&1 || rc=$?
        case $rc in
        0 | 124 | 125 | 126 | 127 | 1[3-9]?) echo "tree $verb: $rc" && return 1 ;;
        esac
        grep -q 'catalog' "$scratch/out"
    done
}

# A content whose row in the store is damaged is in the way of the same bytes; a repaired store has lost it, and gets it back.
case_a_damaged_row_of_a_content() {
    command -v python3 >/dev/null || skip "no python3"
    fresh
    seq 1 3000 >"$scratch/some"
    t -q put "$scratch/some" d/a
    flip refHistory
    expect_status 7 t cat d/a
    expect_status 7 t put "$scratch/some" d/b
    grep -q 'check --repair' "$scratch/err"
    rm -rf "$scratch/repaired"
    expect_status 3 "$ASHLAR" -s "$store" check --repair --into "$scratch/repaired"
    store=$scratch/repaired
    expect_status 7 t cat d/a
    t -q put "$scratch/some" d/b
    t cat d/a | cmp - "$scratch/some"
    store=$scratch/store
}

run_cases
