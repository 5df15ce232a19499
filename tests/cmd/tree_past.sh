#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ashlar tree: versions, times, what changed, and what comes back.
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

case_versions() {
    fresh
    put a one
    put a two
    put a three
    [ "$(t cat a@1)$(t cat a@2)$(t cat a@3)$(t cat a)" = onetwothreethree ]
    expect_status 4 t cat a@4
    expect_status 2 t cat a@0
    expect_status 2 t cat a@99999999999
    for path in a@yesterday 'a@{1' 'a@{now}/b'; do
        expect_status 4 t cat "$path"
        grep -q 'a version is PATH@3 or "PATH@{TIME}"' "$scratch/err"
    done
    expect_status 4 t cat b
    fails grep -q 'a version is' "$scratch/err"
    put a@2 'a file of that name'
    [ "$(t cat a@2)" = 'a file of that name' ]
    [ "$(t cat a@2@1)" = 'a file of that name' ]
    t stat a@1 | grep -q '^Version: *1, not the newest$'
    t stat a@1 | grep -q '^Ended: '
}

# v7files' CatCommandTest and CopyCommandTest: by a SHA.
case_contents_by_digest() {
    fresh
    seq 1000 >"$scratch/want"
    t -q put "$scratch/want" a
    digest=$(sha256sum <"$scratch/want" | cut -c1-64)
    begin=$(printf %.10s "$digest")
    t cat "digest:$digest" | cmp - "$scratch/want"
    [ "$(t cat --range 0-3 "digest:$begin" | tr '\n' ,)" = 1,2, ]
    t stat "digest:$begin" | grep -q "$digest"
    t get "digest:$begin" "$scratch/got"
    cmp "$scratch/got" "$scratch/want"
    t mkdir d
    t cp "digest:$begin" b
    t cp "digest:$begin" d/
    [ "$(t cat b | sha256sum)" = "$(t cat "d/$digest" | sha256sum)" ]
    expect_status 4 t cat digest:00000000
    put tiny x
    expect_status 4 t cat "digest:$(t stat --json tiny | sed 's/.*"digest" : "\([0-9a-f]*\)".*/\1/')"
    grep -q 'tiny ones stand in the documents of files' "$scratch/err"
    expect_status 2 t cat digest:123
    expect_status 2 t cat digest:nothing
    expect_status 5 t cp "digest:$begin" b
    t rm a
    t cat "digest:$digest" | cmp - "$scratch/want"
    expect_status 2 t put "$scratch/want" digest:file
    put /digest:file 'a name of that kind'
    [ "$(t cat /digest:file)" = 'a name of that kind' ]
}

case_times() {
    fresh
    put d/a one
    then=$(now)
    put d/a two
    put d/b new
    [ "$(t cat "d/a@{$then}")" = one ]
    [ "$(t cat --at "$then" d/a)" = one ]
    [ "$(t ls --at "$then" d)" = a ]
    [ "$(t ls "d@{$then}")" = a ]
    [ "$(t ls d | tr '\n' ,)" = a,b, ]
    epoch=$(date -d "$then" +%s.%3N)
    [ "$(t cat "d/a@{@$epoch}")" = one ]
    local_time=$(TZ=America/New_York date -d "$then" '+%Y-%m-%d %H:%M:%S.%3N')
    [ "$(TZ=America/New_York t cat "d/a@{$local_time}")" = one ]
    [ "$(TZ=Asia/Kolkata t cat "d/a@{${then%Z} UTC}")" = one ]
    [ "$(TZ=Asia/Kolkata t cat "d/a@{${then%Z}utc}")" = one ]
    zoned=$(TZ=Asia/Kolkata date -d "$then" '+%Y-%m-%dT%H:%M:%S.%3N%:z')
    [ "$(t cat "d/a@{$zoned}")" = one ]
    expect_status 4 t cat 'd/a@{yesterday}'
    expect_status 4 t cat 'd/a@{2 hours ago}'
    [ "$(t cat 'd/a@{now}')" = two ]
    for time in soon 2026-13-01 2026-02-30 '5 parsecs ago' 2026-01-01T25:00 ''; do
        expect_status 2 t cat --at "$time" d/a
    done
    expect_status 2 t cat 'd/a@{soon}'
    grep -q '"soon" is no time; these are: now, today, yesterday, "last week"' "$scratch/err"
    expect_status 2 t cat --at soon d/a
    grep -q '"soon" of --at is no time; these are: now, today, yesterday, "last week"' "$scratch/err"
    for time in yesterday 'last week' 2.hours.ago 'an hour ago' 3d 2001-02-03 '2001-02-03 10:00' 2001-02-03T10:00:00Z @1000000000; do
        expect_status 4 t cat --at "$time" d/a
        expect_status 4 t cat "d/a@{$time}"
    done
    t keep --within '2 weeks' d | grep -q 'within 14d$'
    t -q keep --within 'last month' d
    t -q prune -n --within yesterday
    t -q gc -n --min-age 'an hour ago'
    expect_status 2 t keep --within soon d
    grep -q -- '--within takes a period such as 12h, 30d or "2 weeks", or the time that it began' "$scratch/err"
    t -q cp -r "d@{$then}" e
    [ "$(t ls e)" = a ]
    [ "$(t cat e/a)" = one ]
    expect_status 4 t ls '/d@{1 year ago}'
}

case_log() {
    fresh
    put a one
    put a two
    t -q mkdir d
    t -q mv a d/b
    printf two | t -q put --type text/plain --by ann - d/b
    t -q rm d/b
    t log d/b >"$scratch/log"
    [ "$(wc -l <"$scratch/log")" = 5 ]
    sed -n 1p "$scratch/log" | grep -q '^@5 .* deleted$'
    sed -n 2p "$scratch/log" | grep -q '^@4 .* ann  .* type$'
    sed -n 3p "$scratch/log" | grep -q '^@3 .* moved from /a$'
    sed -n 4p "$scratch/log" | grep -q '^@2 .* 3 B  3fc4ccfe7458  contents$'
    sed -n 5p "$scratch/log" | grep -q '^@1 .*T.*\.[0-9]*Z .* created$'
    t log --limit 2 d/b | cmp - "$(head -n 2 "$scratch/log" >"$scratch/two"; echo "$scratch/two")"
    t -q undelete d/b
    t log --limit 1 d/b | grep -q '  undeleted$'
    t --json log --limit 1 d/b | grep -q '"version" : 6, .*"what" : "undeleted"'
    expect_status 4 t log nothing
    expect_status 4 t log d/b@1
    grep -q 'the log is of all versions: `ashlar tree log d/b`$' "$scratch/err"
    expect_status 2 t log --limit 0 d/b
    t log d | grep -q '^@1 .* created$'
}

case_diff_of_files() {
    fresh
    put a 'one\ntwo\n'
    put a 'one\nTWO\n'
    expect_status 1 t diff a@1 a@2
    grep -q '^--- /a@1' "$scratch/out"
    grep -q '^+++ /a@2' "$scratch/out"
    grep -q '^-two$' "$scratch/out"
    grep -q '^+TWO$' "$scratch/out"
    expect_status 1 t diff a@1
    expect_status 0 t diff a@2 a
    [ ! -s "$scratch/out" ]
    expect_status 2 t diff a
    expect_status 4 t diff a@1 a@9
    expect_status 1 t --json diff a@1 a
    grep -q '"a" : { "path" : "/a", .*"b" : .*"same" : false }$' "$scratch/out"
    [ -z "$(ls "$scratch"/ashlar-diff* 2>/dev/null)" ]
    mkdir "$scratch/none"
    got=0
    PATH=$scratch/none "$ASHLAR" -s "$store" tree diff a@1 a 2>"$scratch/said" || got=$?
    [ $got = 1 ]
    grep -q 'they differ; to see the lines, a program called diff is needed' "$scratch/said"
    put b 'bytes\00001'
    put b 'bytes\00002'
    TMPDIR=$scratch expect_status 1 t diff b@1 b
    grep -q 'differ' "$scratch/out"
    [ -z "$(ls "$scratch" | grep ashlar-diff)" ]
}

case_diff_of_folders() {
    fresh
    put d/same same
    put d/changed one
    put d/gone gone
    put d/kind/x x
    then=$(now)
    put d/changed two
    t -q rm d/gone
    t -q rm -r d/kind
    put d/kind 'a file now'
    put d/sub/new new
    expect_status 1 t diff -r "d@{$then}" d
    tr -s ' ' <"$scratch/out" | tr '\n' , >"$scratch/got"
    [ "$(cat "$scratch/got")" = 'changed /d/changed,deleted /d/gone,replaced /d/kind,deleted /d/kind/x,new /d/sub/,new /d/sub/new,' ]
    expect_status 0 t diff -r d d
    expect_status 2 t diff "d@{$then}" d
    grep -q 'diff -r compares folders' "$scratch/err"
    expect_status 2 t diff d d/same
    t --json diff -r "d@{$then}" | grep -q '"change" : "deleted" }'
}

case_restore() {
    fresh
    put a one
    put a two
    t restore -n a@1 | grep -q '^would restore /a as of version 1: now version 3$'
    t restore a@1 | grep -q '^restored /a as of version 1: now version 3$'
    [ "$(t cat a)" = one ]
    [ "$(t cat a@2)" = two ]
    t log --limit 1 a | grep -q '^@3 .*  restored @1$'
    t restore a@1 | grep -q '^/a says what version 1 said: still version 3$'
    t restore -n a@1 | grep -q '^/a says what version 1 said: still version 3$'
    [ -z "$(t -q restore a@1)" ]
    t -q restore a@2
    t -q restore a@1
    t log --limit 2 a | cut -d' ' -f1,14- | tr -s ' ' | grep -c 'restored @[12]$' | grep -q 2
    t -q tag a last # a version of the same contents is none of the restored one
    then=$(now)
    put a four
    t -q restore "a@{$then}"
    [ "$(t cat a)" = one ]
    expect_status 2 t restore a
    expect_status 4 t restore a@17
    expect_status 4 t restore b@1
    put d/b one
    then=$(now)
    put d/b two
    t restore "d@{$then}" | grep -q '^restored /d as of version 1: .*; what lies in it stays as it is$'
    [ "$(t cat d/b)" = two ]
    t -q rm a
    expect_status 4 t restore a@1
    grep -q '/a was deleted on 20.*: `ashlar tree undelete /a` brings it back, and `log` shows its versions$' "$scratch/err"
    expect_status 4 t restore d/b@9
    fails grep -q undelete "$scratch/err"
}

case_no_version_was_said() {
    fresh
    put d/a x
    expect_status 2 t restore d/a
    grep -q 'PATH@VERSION, PATH@TAG or PATH@{TIME}$' "$scratch/err"
    expect_status 2 t restore -r d
    grep -q 'PATH@{TIME} or PATH@TAG$' "$scratch/err"
    expect_status 2 t diff d/a
    grep -q 'd/a@VERSION, @TAG or @{TIME}$' "$scratch/err"
    expect_status 2 t diff d
    grep -q 'd@{TIME} or @TAG, with -r$' "$scratch/err"
    expect_status 2 t status
    grep -q 'did you mean tree put -r -n, or tree diff -r' "$scratch/err"
}

case_trash() {
    fresh
    put d/a one
    put d/b two
    [ -z "$(t undelete)" ]
    t -q rm d/a
    t undelete | grep -q '^20.*Z  *3 B  id:[0-9a-f]*  */d/a$'
    put d/a other
    expect_status 5 t undelete d/a
    t undelete -n d/a d/old | grep -q '^would undelete d/old$'
    t undelete d/a d/old | grep -q '^undeleted /d/old$'
    [ "$(t cat d/old)" = one ]
    expect_status 4 t undelete d/a
    grep -q 'nothing was deleted there' "$scratch/err"
    t -q rm -r d
    id=$(t undelete | sed -n 's|^.* \(id:[0-9a-f]*\)  */d$|\1|p')
    t -q undelete "$id"
    [ "$(t ls d | tr '\n' ,)" = a,b,old, ]
    t -q rm -r d
    t undelete d/ | grep -q '^undeleted /d$'
    [ "$(t ls d | tr '\n' ,)" = a,b,old, ]
    expect_status 4 t undelete id:ffffffffffffffffffffffff
}

case_nothing_changes() {
    fresh
    echo one >"$scratch/one"
    t put "$scratch/one" a | grep -q '^kept .* as /a, version 1 (4 B)$'
    t put "$scratch/one" a | grep -q "^$scratch/one is what /a has: still version 1 (4 B)$"
    [ -z "$(t -q put "$scratch/one" a)" ]
    echo two | t put - a | grep -q '^kept standard input as /a, version 2'
    t -q rm a
    echo two | t put - a | grep -q '^kept standard input as /a, version 1'
    expect_status 1 t tag --remove a nothing
    grep -q '/a@1 is not tagged nothing$' "$scratch/err"
    t -q tag a good
    t tag a good | grep -q '^/a@1 is tagged already good$'
}

case_what_became_of_it() {
    fresh
    put 'a b' one
    put d/a one
    put e one
    t -q rm 'a b'
    t -q mv e f
    for verb in cat ls get stat rm 'mv -f' cp diff log; do
        rest=
        [ "$verb" != 'mv -f' ] && [ "$verb" != cp ] || rest=x
        if [ "$verb" != log ]; then
            expect_status 4 t $verb '/a b' $rest
            grep -q "/a b was deleted on 20.*: .ashlar tree undelete '/a b'. brings it back, and .log. shows its versions$" "$scratch/err"
        fi
        [ "$verb" = diff ] || [ "$verb" = log ] || expect_status 4 t $verb e $rest
        [ "$verb" = diff ] || [ "$verb" = log ] || grep -q '/e was moved: it is /f by now$' "$scratch/err"
        expect_status 4 t $verb nothing $rest
        fails grep -q undelete "$scratch/err"
    done
    t -q rm -r d
    for verb in cat log; do
        expect_status 4 t $verb d/a
        grep -q '; /d was deleted on 20.*undelete /d`' "$scratch/err"
    done
    expect_status 4 t cat 'd/a@{now}'
    echo one | t -q --root team put - a
    t -q rm --root team a
    expect_status 4 t cat --root team a
    grep -q '`ashlar tree undelete --root team /a`' "$scratch/err"
}

case_tags() {
    fresh
    put a one
    put a two
    t tag a@1 first | grep -q '^/a@1 is tagged first$'
    t -q tag a newest
    t log a | grep -q '^@1 .* created  \[first\]$'
    t log a | grep -q '^@2 .* contents  \[newest\]$'
    t --json stat a@1 | grep -q '"tags" : \[ "first" \]'
    t -q tag --remove a@1 first
    t log a | fails grep -q first
    expect_status 2 t tag a ''
    expect_status 4 t tag a@9 x
}

case_tags_for_versions() {
    fresh
    put a one
    put a two
    put a three
    t -q tag a@1 good
    t -q tag a@2 'very good'
    t -q tag a@2 7
    [ "$(t cat a@good)$(t cat 'a@very good')" = onetwo ]
    [ "$(t get a@good -)" = one ]
    expect_status 1 t diff a@good a@3
    grep -q '^-one$' "$scratch/out"
    expect_status 1 t diff a@good
    t stat a@good | grep -q '^Version: *1,'
    t -q cp a@good b
    [ "$(t cat b)" = one ]
    expect_status 4 t cat a@7 # a number is a version
    for tag in 8 '{now}' x@y; do
        t tag a@2 "$tag" 2>&1 | grep -q "warning: PATH@$tag does not lead to what is tagged so"
        [ -z "$(t -q tag --remove a@2 "$tag" 2>&1)" ]
    done
    [ -z "$(t -q tag a@2 v1.0 2>&1)" ]
    for path in a@better a@ nothing@good a@good/x; do
        expect_status 4 t cat "$path"
        grep -q 'PATH@TAG of one that has the tag' "$scratch/err"
    done
    t -q tag a@3 good
    [ "$(t cat a@good)" = three ] # the newest that has it
    t -q tag --remove a@3 good
    t restore a@good | grep -q '^restored /a as of version 1: now version 4$'
    [ "$(t cat a)" = one ]
    put a@good 'a file of that name'
    [ "$(t cat a@good)" = 'a file of that name' ]
    [ "$(t cat a@good@1)" = 'a file of that name' ]
    put team/x x
    for verb in ls 'get -r' 'cp -r' 'diff -r' 'restore -r'; do
        rest=
        [ "$verb" != 'cp -r' ] || rest=y
        expect_status 2 t $verb team@1 $rest
        grep -q 'team@{TIME} does, and this version began at 20.*Z$' "$scratch/err"
    done
    t stat team@1 | grep -q '^Version: *1$'
}

case_who_tagged_what() {
    fresh
    put a one
    t -q tag --by ann a good
    put a two
    t stat a@good | grep -q '^Tag:       *good, since 20.*Z by ann$'
    t -q tag --by bob a@1 good # it is there already
    t --json stat a@1 | grep -q '"tagged" : \[ { "tag" : "good", "at" : .*, "by" : "ann" } \]'
    t -q tag --remove a@1 good
    t stat a@1 | fails grep -q '^Tag'
    t --json stat a@1 | fails grep -q '"good"'
    # Of a folder, what lay in it when it was tagged.
    put d/a one
    t -q tag d v1
    sleep 0.02
    put d/a two
    put d/b new
    [ "$(t ls d@v1)" = a ]
    [ "$(t diff -r d@v1 d | tr -s ' ' | tr '\n' ,)" = 'changed /d/a,new /d/b,' ] || [ $? = 1 ]
    t -q cp -r d@v1 e
    [ "$(t cat e/a)" = one ]
    t -q get -r d@v1 "$scratch/v1"
    [ "$(cat "$scratch/v1/a")" = one ]
    t restore -r d@v1 | tail -n 1 | grep -q '^0 brought back, 1 restored, 0 moved back, 1 removed, 0 unchanged$'
    [ "$(t cat d/a)" = one ]
}

numbers() { # PATH: its versions, the newest first
    t log "$1" | sed 's/ .*//' | tr '\n' ' '
}

# One version goes for good, so that it takes -f, or an answer.
case_removing_versions() {
    fresh
    for i in 1 2 3 4 5; do
        echo $i | t -q put - d/a
    done
    expect_status 2 t rm d/a@1
    grep -q 'nothing brings /d/a@1 back: -f says that it is meant' "$scratch/err"
    [ "$(t rm -n d/a@1)" = 'would remove /d/a@1' ]
    [ "$(numbers d/a)" = '@5 @4 @3 @2 @1 ' ]
    [ "$(t rm -f d/a@1)" = 'removed /d/a@1' ]
    t -q tag d/a@2 good
    expect_status 1 t rm -f d/a@good
    grep -q '/d/a@2 is tagged good, and stays so long' "$scratch/err"
    expect_status 1 t rm -f d/a@5
    grep -q '/d/a@5 is the newest version; `rm d/a` removes the file' "$scratch/err"
    expect_status 1 t rm -n d/a@5
    expect_status 2 t rm -f 'd/a@{now}'
    expect_status 2 t rm -f d@1
    expect_status 4 t rm d/a@1
    t -q rm -f d/a@1 d/b@1
    # What has that very name comes before a version.
    echo x | t -q put - d/a@4
    [ "$(t rm -f d/a@4)" = 'removed /d/a@4' ]
    [ "$(numbers d/a)" = '@5 @4 @3 @2 ' ]
    [ "$(t --json rm -f d/a@3 | field version)" = 3 ]
    [ "$(numbers d/a)" = '@5 @4 @2 ' ]
    [ "$(t cat d/a)" = 5 ]
}

# answered ANSWER: at a terminal, by whom is asked.
answered() {
    python3 - "$ASHLAR" "$store" "$1" <<'END'
import os, pty, sys
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[1], [sys.argv[1], "-s", sys.argv[2], "tree", "rm", "a@1"])
seen = b""
while b"Remove it? [y/N]" not in seen:
    seen += os.read(terminal, 1000)
os.write(terminal, sys.argv[3].encode() + b"\n")
try:
    while os.read(terminal, 1000):
        pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
END
}

case_removing_versions_at_a_terminal() {
    fresh
    echo 1 | t -q put - a
    echo 2 | t -q put - a
    for no in '' n no; do
        answered "$no"
        [ "$(numbers a)" = '@2 @1 ' ]
    done
    answered y
    [ "$(numbers a)" = '@2 ' ]
}

run_cases
