#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ashlar tree: files and folders in and out, looked at, moved, copied and removed.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
t() {
    "$ASHLAR" -s "$store" tree "$@"
}
fresh() {
    rm -rf "$store"
    "$ASHLAR" -s "$store" init >"$scratch/init"
}

case_a_file_in_and_out() {
    fresh
    echo hello >"$scratch/a.txt"
    t put "$scratch/a.txt" docs/a.txt >"$scratch/out"
    grep -q "^kept $scratch/a.txt as /docs/a.txt, version 1 (6 B)$" "$scratch/out"
    [ "$(t cat docs/a.txt)" = hello ]
    [ "$(t cat /docs/a.txt)" = hello ]
    t put "$scratch/a.txt" docs # into it
    [ "$(t ls docs)" = a.txt ]
    t put "$scratch/a.txt" new/
    [ "$(t cat new/a.txt)" = hello ]
    echo more | t put - docs/b.txt
    [ "$(t get docs/a.txt -)" = hello ]
    [ "$(t cat docs/a.txt docs/b.txt)" = "$(printf 'hello\nmore')" ]
    (cd "$scratch" && mkdir folder && cd folder && "$ASHLAR" -s "$store" tree get docs/b.txt && [ "$(cat b.txt)" = more ])
    t get docs/b.txt "$scratch/folder"
    t get docs/b.txt "$scratch/folder/c.txt"
    cmp "$scratch/folder/b.txt" "$scratch/folder/c.txt"
    [ "$(t get docs/b.txt -)" = more ]
    touch -d '2001-02-03 04:05:06Z' "$scratch/a.txt"
    t -q put "$scratch/a.txt" old.txt
    t -q get old.txt "$scratch/folder/old.txt"
    [ "$(stat -c %Y "$scratch/folder/old.txt")" = 981173106 ]
    t put "$scratch/a.txt" "$scratch/folder/old.txt" several/ >"$scratch/out.txt"
    [ "$(t ls several | tr '\n' ' ')" = 'a.txt old.txt ' ]
    printf x | t -q put --type text/css - style
    [ "$(t --json stat style | field contentType)" = text/css ]
}

case_ranges() {
    fresh
    printf 0123456789 | t -q put - d
    [ "$(t cat --range 2-4 d)" = 234 ]
    [ "$(t cat --range 7- d)" = 789 ]
    [ "$(t cat --range -3 d)" = 789 ]
    [ "$(t cat --range 8-100 d)" = 89 ]
    expect_status 2 t cat --range 10-11 d
    grep -q 'the range begins at byte 10, the file has 10' "$scratch/err"
    expect_status 2 t cat --range x d
    expect_status 2 t cat --range 4-2 d
    expect_status 2 t cat --range 1-2-3 d
}

case_listings() {
    fresh
    for name in b a.txt 'a b' sub/x sub/y; do
        echo "$name" | t -q put - "$name"
    done
    t mkdir sub/empty
    [ "$(t ls | tr '\n' ,)" = 'a b,a.txt,b,sub/,' ]
    [ "$(t ls / | tr '\n' ,)" = 'a b,a.txt,b,sub/,' ]
    [ "$(t ls sub | tr '\n' ,)" = 'empty/,x,y,' ]
    [ "$(t ls -R | tr '\n' ,)" = 'a b,a.txt,b,sub/,sub/empty/,sub/x,sub/y,' ]
    [ "$(t ls b)" = b ]
    t ls -l | grep -q '^ *6  20.*Z     1  a.txt$'
    t ls -l | grep -q '^ *-  20.*Z     1  sub/$'
    t ls -lh | grep -q '^ *6 B  20'
    [ "$(t ls --json -R | field path | tr '\n' ,)" = '/a b,/a.txt,/b,/sub,/sub/empty,/sub/x,/sub/y,' ]
    [ "$(t ls --json | field folder | tr '\n' ,)" = 'false,false,false,true,' ]
    expect_status 4 t ls nothing
    expect_status 3 t ls b nothing
    [ "$(cat "$scratch/out")" = b ]
}

case_an_entry_as_json() {
    fresh
    echo hello | t -q put --by ann - a
    t --json stat a >"$scratch/stat"
    [ "$(field path <"$scratch/stat")" = /a ]
    [ "$(field version <"$scratch/stat")" = 1 ]
    [ "$(field length <"$scratch/stat")" = 6 ]
    [ "$(field by <"$scratch/stat")" = ann ]
    [ "$(field deleted <"$scratch/stat")" = false ]
    [ "$(field digest <"$scratch/stat")" = "$(echo hello | sha256sum | cut -d' ' -f1)" ]
    for key in id created changed modified; do
        [ "$(field $key <"$scratch/stat")" != null ]
    done
    t stat a >"$scratch/out"
    grep -q '^Path:      */a$' "$scratch/out"
    grep -q '^SHA-256:   *5891b5b522d5' "$scratch/out"
    id=$(sed -n 's/^Id: *//p' "$scratch/out")
    t mv a b
    [ "$(t cat "id:$id")" = hello ]
    expect_status 4 t stat "id:$(echo "$id" | tr 0-9a-f f)"
    expect_status 2 t stat id:what
    t --json stat / >"$scratch/stat"
    [ "$(field version <"$scratch/stat") $(field created <"$scratch/stat")" = '0 null' ]
    [ "$(t stat / | tail -n 1)" = 'Version:   0' ]
    t log / | grep -q '^@0    -  '
}

# A version of a folder does not say what lay in it; that is told by the folder's path.
case_a_folder_by_id() {
    fresh
    echo hello | t -q put - d/e/f
    id=id:$(t stat d/e | sed -n 's|^Id: *||p')
    [ "$(t ls "$id")" = f ]
    for version in "$id@1" d/e@1; do
        expect_status 2 t ls "$version"
        grep -q 'do not say what lay in it: /*d/e@{TIME} does' "$scratch/err"
    done
    expect_status 2 t get -r "$id@1" "$scratch/got"
    grep -q ' /d/e@{TIME} does' "$scratch/err"
}

# With and without the first slash, which counts.
case_long_paths() {
    fresh
    name=$(printf '%01024d' 0)
    long=
    for i in $(seq 63); do long=$long/$name; done
    folder=$long
    long=$long/$(printf '%0960d' 0)
    for path in "$long" "${long#/}"; do
        echo hello | t -q put - "$path"
        [ "$(t cat "$path")" = hello ]
        [ "$(t ls "$path")" = "$path" ]
        t --json stat "$path" >"$scratch/stat"
        [ "$(field path <"$scratch/stat")" = "$long" ]
    done
    [ "$(t ls "$folder")" = "${long##*/}" ]
    t ls -R >"$scratch/out"
    [ "$(tail -n 1 "$scratch/out")" = "${long#/}" ]
    t -q mv "$long" short
    t -q mv short "$folder/"
    t -q mv "$folder/short" "${long#/}"
    longer=${long}0
    for path in "$longer" "${longer#/}"; do
        for words in "put $0 $path" "cat $path" "ls $path" "stat $path" "mv $long $path" "cp $long $path" "log $path" "watch $path" \
            "rm $path" "mkdir $path"; do
            expect_status 2 t $words
            grep -q 'a path of 65537 bytes is longer than 65536' "$scratch/err"
        done
    done
    # What lies below gets longer, and is told of; it comes back with its folder.
    t -q mkdir m
    t -q mv "$name" m
    expect_status 3 t ls -R
    grep -q 'is left out, and what lies in it: its path would be longer than 65536 bytes' "$scratch/err"
    t -q mv "m/$name" /
    [ "$(t cat "$long")" = hello ]
}

# An id is read; what changes takes a path, and makes no file that is called like an id.
case_an_id_is_no_path() {
    fresh
    echo hello | t -q put - a
    id=id:$(t stat a | sed -n 's|^Id: *||p')
    for change in "put $0" mkdir 'mkdir -p' 'mv a' 'cp a' 'rm -f' 'rm -r'; do
        expect_status 2 t $change "$id"
        grep -q "takes a PATH, not an id; /$id is what" "$scratch/err"
    done
    expect_status 2 t mv "$id" b
    [ "$(t ls)" = a ]
    t -q put "$0" "/$id"
    [ "$(t cat "$id")" = hello ]
    t rm "/$id"
}

case_folders() {
    fresh
    t mkdir a >"$scratch/out"
    grep -q '^made /a$' "$scratch/out"
    expect_status 5 t mkdir a
    expect_status 4 t mkdir x/y
    t mkdir -p x/y/z x
    [ "$(t ls -R | tr '\n' ,)" = 'a/,x/,x/y/,x/y/z/,' ]
    t mkdir -n later | grep -q '^would make later$'
    expect_status 4 t stat later
    echo 1 | t -q put - f
    expect_status 5 t mkdir f
    expect_status 2 t put - f/g
    expect_status 2 t cat a
    grep -q 'a is a folder' "$scratch/err"
    expect_status 2 t get a "$scratch/nowhere"
    grep -q 'get -r gets folders' "$scratch/err"
}

case_moving() {
    fresh
    echo 1 | t -q put - a
    echo 2 | t -q put - b
    t mkdir d
    t mv a c | grep -q '^moved /a to /c$'
    expect_status 4 t cat a
    t -q mv c d
    [ "$(t cat d/c)" = 1 ]
    expect_status 5 t mv b d/c
    grep -q -- '-f replaces it' "$scratch/err"
    t -q mv -f b d/c
    [ "$(t cat d/c)" = 2 ]
    t -q mkdir e
    t -q mv d e/
    [ "$(t cat e/d/c)" = 2 ]
    expect_status 2 t mv e e/d
    expect_status 4 t mv nothing x
    t mv -n e f | grep -q '^would move /e to f$'
    [ "$(t cat e/d/c)" = 2 ]
    t --json mv e f | grep -q '"path" : "/f".*"from" : "/e"'
}

case_copying() {
    fresh
    echo 1 | t -q put - d/a
    t cp d/a b | grep -q '^copied d/a to /b$'
    [ "$(t cat b)" = 1 ]
    expect_status 2 t cp d e
    grep -q 'cp -r copies folders' "$scratch/err"
    t -q cp -r d e
    [ "$(t cat e/a)" = 1 ]
    t -q cp b e
    [ "$(t ls e | tr '\n' ,)" = 'a,b,' ]
    echo 2 | t -q put - b
    expect_status 5 t cp b e/b
    t -q cp -f b e/b
    [ "$(t cat e/b)" = 2 ]
    t -q cp b@1 e/old
    [ "$(t cat e/old)" = 1 ]
    expect_status 4 t cp b@7 e/older
}

case_removing() {
    fresh
    echo 1 | t -q put - d/a
    echo 2 | t -q put - b
    t rm -n b | grep -q '^would remove /b$'
    t rm b | grep -q '^removed /b$'
    expect_status 4 t cat b
    expect_status 1 t rm d
    grep -q 'd is not empty: .*; rm -r removes folders$' "$scratch/err"
    expect_status 1 t rm -n d
    grep -q 'd is not empty; rm -r removes folders' "$scratch/err"
    t -q mkdir empty
    t -q rm empty
    expect_status 3 t rm -r d nothing
    grep -q 'nothing' "$scratch/err"
    [ -z "$(t ls)" ]
    expect_status 2 t rm ''
    expect_status 2 t rm
}

case_mistakes() {
    fresh
    expect_status 2 t
    expect_status 2 t lss
    grep -q 'unknown verb "tree lss"; did you mean tree ls?' "$scratch/err"
    expect_status 2 t history x
    grep -q 'did you mean tree log?' "$scratch/err"
    expect_status 2 t frobnicate
    grep -q '`ashlar help tree` lists them' "$scratch/err"
    expect_status 2 t put --recusive a b
    grep -q 'did you mean --recursive?' "$scratch/err"
    expect_status 2 t ls --delete
    grep -q '`ashlar help tree ls`' "$scratch/err"
    expect_status 2 t ls -n
    grep -q 'tree ls does not take -n' "$scratch/err"
    expect_status 2 t put x
    grep -q 'too few arguments: ashlar tree put' "$scratch/err"
    expect_status 4 t put "$scratch/missing" x
    expect_status 2 t put "$scratch" x
    grep -q 'put -r keeps folders' "$scratch/err"
    expect_status 2 t put "$scratch" ''
    echo 1 | t -q put - there
    expect_status 5 t put --if-absent "$0" there
    expect_status 2 t cat a/../b
    expect_status 4 t cat a
    "$ASHLAR" -s "$store" --json tree cat a 2>"$scratch/err" || true
    grep -q '"error" : { "code" : "ENOTFOUND", "exit" : 4, "verb" : "tree cat", "item" : "a"' "$scratch/err"
    expect_status 4 "$ASHLAR" -s "$scratch/none" tree ls
    expect_status 4 "$ASHLAR" -s "$store" -d nowhere tree ls
}

case_help_and_completion() {
    "$ASHLAR" help tree >"$scratch/out"
    grep -q '^  undelete  *bring back' "$scratch/out"
    "$ASHLAR" help tree put >"$scratch/help"
    grep -q '^usage: ashlar tree put ' "$scratch/help"
    grep -q -- '--quick' "$scratch/help"
    "$ASHLAR" tree help put | cmp - "$scratch/help"
    "$ASHLAR" tree put --help | cmp - "$scratch/help"
    expect_status 2 "$ASHLAR" help tree pot
    expect_status 2 "$ASHLAR" help ls x
    "$ASHLAR" help | grep -q '^trees:'
    "$ASHLAR" help --man | grep -q '^.SS tree undelete'
    for shell in bash zsh fish; do
        "$ASHLAR" completion $shell >"$scratch/completion"
        grep -q 'undelete' "$scratch/completion"
        grep -q -- 'if-absent' "$scratch/completion"
    done
    "$ASHLAR" completion bash >"$scratch/completion"
    bash -c '. "$1"; COMP_WORDS=(ashlar tree un); COMP_CWORD=2; _ashlar; echo "${COMPREPLY[*]}"' - "$scratch/completion" |
        grep -qx undelete
    bash -c '. "$1"; COMP_WORDS=(ashlar tree keep --wi); COMP_CWORD=3; _ashlar; echo "${COMPREPLY[*]}"' - "$scratch/completion" |
        grep -qx -- --within
}

case_several_trees_and_collections() {
    fresh
    echo 1 | t -q put - a
    echo 2 | t --root other -q put - a
    echo 3 | t -q put --collection shelf - a
    echo 4 | "$ASHLAR" -s "$store" -d else tree -q put - a
    [ "$(t cat a)$(t --root other cat a)$(t cat --collection shelf a)$("$ASHLAR" -s "$store" -d else tree cat a)" = 1234 ]
    expect_status 4 t ls --collection shelve
}

case_roots_that_nobody_made() {
    fresh
    [ "$(t ls)$(t ls --root team)" = '' ]
    echo a | t -q put --root team - a
    expect_status 4 t ls --root taem
    grep -q 'there is no tree "taem"; there is team$' "$scratch/err"
    echo a | t -q put --root other - d/a
    for verb in 'cat a' 'rm a' du 'log a'; do
        expect_status 4 t --root taem $verb
        grep -q 'there is no tree "taem"; there are other, team$' "$scratch/err"
    done
    expect_status 0 t ls
    grep -q 'there is no tree "/"; there are other, team (--root NAME chooses)$' "$scratch/err"
    expect_status 0 t -q ls
    [ ! -s "$scratch/err" ]
    t -q rm --root team a
    expect_status 0 t ls --root team # it has a past
    [ ! -s "$scratch/err" ]
    t -q acl --root team --read staff --write staff /
    expect_status 0 t ls --root team
    expect_status 4 "$ASHLAR" copy --tree --root taem "$store" "$scratch/copy"
    grep -q 'there is no tree "taem"; there are other, team$' "$scratch/err"
    [ ! -e "$scratch/copy" ]
    "$ASHLAR" -q copy --tree --root other "$store" "$scratch/copy"
    [ "$("$ASHLAR" -s "$scratch/copy" tree cat --root other d/a)" = a ]
    t -q mkdir --root new x
    [ "$(t ls --root new)" = x/ ]
}

case_into_folders() {
    fresh
    echo 1 | t -q put - a
    echo 2 | t -q put - b
    t -q mkdir d
    expect_status 4 t mv a sub2/
    grep -q 'there is no folder sub2/$' "$scratch/err"
    expect_status 4 t cp a sub2/
    expect_status 2 t mv a b/
    grep -q 'b/ is a file, not a folder$' "$scratch/err"
    t mv d e/ | grep -q '^moved /d to /e$' # as mv does it
    t -q cp -r e d/
    [ "$(t ls | tr '\n' ,)" = a,b,d/,e/, ]
    expect_status 4 t mv a b nowhere
    grep -q 'there is no folder nowhere$' "$scratch/err"
    [ "$(t ls | tr '\n' ,)" = a,b,d/,e/, ]
    expect_status 3 t cp a nothing b d
    [ "$(t ls d | tr '\n' ,)" = a,b, ]
    expect_status 4 t cp a b e/none
    t -q cp -r a d e
    t -q mv a b e/d -f
    [ "$(t ls -R e | tr '\n' ,)" = a,d/,d/a,d/b, ]
    t -q mkdir e/f
    expect_status 2 t mv e/a e/f b d/a
    t -q tag d/a d/b good
    t log d/b | grep -q '\[good\]$'
    t -q tag --remove d/a d/b good
    t log d/b | fails grep -q good
    t -q rm -rf nothing e
    expect_status 4 t rm -r nothing
}

case_several_out() {
    fresh
    echo 1 | t -q put - a
    echo 2 | t -q put - d/b
    mkdir "$scratch/several"
    t -q get a d/b "$scratch/several"
    [ "$(cat "$scratch/several/a" "$scratch/several/b" | tr '\n' ,)" = 1,2, ]
    [ "$(t get a d/b - | tr '\n' ,)" = 1,2, ]
    t -q get -r a d "$scratch/several"
    [ "$(cat "$scratch/several/d/b")" = 2 ]
    expect_status 4 t get a d/b "$scratch/nowhere"
    expect_status 4 t get a "$scratch/nowhere/"
    [ ! -e "$scratch/nowhere" ]
    expect_status 3 t get a nothing "$scratch/several"
}

case_no_store_for_nothing() {
    rm -rf "$store"
    echo a >"$scratch/a"
    for path in . .. x/../y ./x x//y ''; do
        expect_status 2 t put "$scratch/a" "$path"
        expect_status 2 t mkdir "$path"
    done
    expect_status 2 t put "$scratch/a" .
    grep -q '"/" is the root itself$' "$scratch/err"
    expect_status 4 t put "$scratch/nothing" x
    expect_status 4 t put -r "$scratch/nothing" x
    expect_status 3 t put "$scratch/nothing" "$scratch/neither" x
    for words in ls 'cat a' 'get a' 'stat a' 'log a' 'diff a@1' 'rm a' 'mv a b' 'cp a b' 'restore a@1' undelete 'tag a x' \
        'keep /' prune gc 'acl /' du check watch; do
        expect_status 4 t $words
    done
    [ ! -e "$store" ]
    t -q put "$scratch/nothing" "$scratch/a" x 2>/dev/null || true
    [ "$(t ls x)" = a ]
}

# What is read may be said by its id or its digest, what is changed by a path.
case_ids_and_digests() {
    fresh
    seq 1 500 >"$scratch/one"
    t -q put "$scratch/one" d/f
    seq 1 600 | t -q put - d/f
    id=id:$(t --json stat d/f | sed 's/.*"id" : { "$oid" : "\([0-9a-f]*\)" }.*/\1/;s/.*"id" : "\([0-9a-f]*\)".*/\1/')
    digest=digest:$(sha256sum <"$scratch/one" | cut -c 1-12)
    t cat "$id@1" | cmp - "$scratch/one"
    t cat "$digest" | cmp - "$scratch/one"
    [ "$(t cat "$id" | tail -n 1)" = 600 ]
    [ "$(t cat "$id@2" | tail -n 1)" = 600 ]
    expect_status 4 t cat "$id@7"
    expect_status 2 t cat "$id@0"
    t stat "$id@1" | grep -q '^Path: *.*/d/f'
    t diff "$id@1" "$digest" # they say the same
    [ "$(t log "$id" | wc -l)" = 2 ]
    expect_status 2 t log "$digest"
    grep -q 'contents have no versions' "$scratch/err"
    for what in "$id" "$id@1" "$digest"; do
        for words in "rm $what" "mkdir $what" "put $scratch/one $what" "mv $what y" "mv d/f $what" "cp d/f $what" "undelete d/f $what" \
            "du $what" "keep --last 1 $what" "prune $what" "acl $what" "watch $what" "restore $what" "tag $what x"; do
            expect_status 2 t $words
            grep -q 'this takes a PATH, not a' "$scratch/err"
        done
    done
    expect_status 2 t cp "$id" y
    t -q cp "$digest" y
    t cat y | cmp - "$scratch/one"
    expect_status 2 t undelete "$digest"
    [ "$(t ls | tr '\n' ' ')" = 'd/ y ' ]
    [ "$(t log d/f | wc -l)" = 2 ]
    echo own | t -q put - "/$id"
    [ "$(t cat "/$id")" = own ]
}

case_habits_of_other_commands() {
    fresh
    expect_status 2 t log -n 1 d
    grep -q 'does not take -n (--dry-run); --limit N shows so many versions$' "$scratch/err"
    expect_status 2 t ls -a
    grep -q 'unknown option -a: names that begin with a dot are shown' "$scratch/err"
    expect_status 2 t cp -a a b
    grep -q 'unknown option -a: cp -r copies folders' "$scratch/err"
}

run_cases
