#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ashlar object: stores, and what is in them, in the words of `nats object`.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
o() {
    "$ASHLAR" -s "$store" object "$@"
}
fresh() {
    rm -rf "$store"
    "$ASHLAR" -s "$store" init >"$scratch/init"
    o add pictures >"$scratch/add"
}
# refused STATUS WORD...: the words fail so
refused() {
    want=$1
    shift
    status=0
    "$@" >"$scratch/refused" 2>&1 || status=$?
    [ "$status" = "$want" ]
}

case_stores() {
    fresh
    grep -q "^ *Bucket: pictures$" "$scratch/add"
    o add pictures >"$scratch/again"
    refused 5 o add pictures --description other
    o add music --ttl 12h --max-bucket-size 10G --description "all of it" --metadata owner=me --keep 3 --json >"$scratch/music"
    [ "$(field bucket <"$scratch/music")" = music ]
    [ "$(field ttlMs <"$scratch/music")" = 43200000 ]
    [ "$(field maxBytes <"$scratch/music")" = 10737418240 ]
    [ "$(field metadata.owner <"$scratch/music")" = me ]
    [ "$(field keepLast <"$scratch/music")" = 3 ]
    [ "$(o ls --names)" = "$(printf 'music\npictures')" ]
    o status music >"$scratch/status"
    grep -q "all of it" "$scratch/status"
    refused 4 o status none
    refused 2 o add "not a name"
    refused 1 o add x --replicas 3
    grep -q replicas "$scratch/refused"
    refused 2 o rm music
    o rm --force music
    [ "$(o ls --names)" = pictures ]
}

case_a_file_in_and_out() {
    fresh
    printf hello >"$scratch/a.txt"
    o put pictures "$scratch/a.txt" >"$scratch/out"
    grep -q "^put $scratch/a.txt as a.txt, revision 1 (5 bytes, 1 chunk)$" "$scratch/out"
    o get pictures a.txt -O - >"$scratch/got"
    [ "$(cat "$scratch/got")" = hello ]
    (mkdir -p "$scratch/there" && cd "$scratch/there" && o get pictures a.txt && [ "$(cat a.txt)" = hello ])
    o get pictures a.txt --output "$scratch/b.txt"
    cmp "$scratch/a.txt" "$scratch/b.txt"
    printf more | o put pictures --name x/b --description "a thing" -H "Key: Value" --metadata owner=me --tag red --tag blue --type text/plain
    o info pictures x/b --json >"$scratch/info"
    [ "$(field description <"$scratch/info")" = "a thing" ]
    [ "$(field headers.Key <"$scratch/info")" = '["Value"]' ]
    [ "$(field tags <"$scratch/info")" = '["red", "blue"]' ]
    o info pictures x/b >"$scratch/info"
    grep -q "^ *Digest: SHA-256=" "$scratch/info"
    grep -q "^ *Header: Content-Type: text/plain$" "$scratch/info"
    o info pictures x/b --adr >"$scratch/adr"
    [ "$(field headers.Ashlar-Tags <"$scratch/adr")" = '["red", "blue"]' ]
    [ "$(field mtime <"$scratch/adr")" = null ]
    [ "$(o get pictures x/b -O - --range 1-2)" = or ]
    [ "$(o get pictures x/b -O - --chunk 0)" = more ]
    refused 4 o get pictures none -O -
    refused 2 o put pictures
    refused 4 o put pictures "$scratch/none"
    refused 5 o put pictures "$scratch/a.txt" --if-absent
    [ "$(o ls pictures --names)" = "$(printf 'a.txt\nx/b')" ]
    [ "$(o ls pictures --names --prefix x/)" = x/b ]
}

case_changes() {
    fresh
    printf 1 | o put pictures --name a
    printf 2 | o put pictures --name b
    o mv pictures a c
    refused 4 o info pictures a
    refused 5 o mv pictures c b
    o meta pictures c --description new --tag red
    [ "$(o info pictures c --json | field tags)" = '["red"]' ]
    o meta pictures c --tag ""
    [ "$(o info pictures c --json | field tags)" = null ]
    [ "$(o info pictures c --json | field description)" = new ]
    o link pictures l c
    [ "$(o get pictures l -O -)" = 1 ]
    refused 5 o link pictures b c
    o link pictures all --to pictures
    refused 2 o get pictures all -O -
    o rm pictures b c
    refused 4 o get pictures l -O -
    o ls pictures --deleted >"$scratch/ls"
    grep -q "b (deleted)$" "$scratch/ls"
    o expire pictures l --in 1h >"$scratch/expire"
    grep -q Expires "$scratch/expire"
    refused 2 o seal pictures
    o seal --force pictures
    refused 9 o put pictures "$scratch/a.txt"
    [ "$(o status pictures --json | field sealed)" = true ]
}

case_versions() {
    fresh
    o add kept --keep all >"$scratch/add"
    printf 1 | o put kept --name a
    printf 22 | o put kept --name a
    o rm kept a
    [ "$(o versions kept a --json | field revision)" = "$(printf '3\n2\n1')" ]
    [ "$(o get kept a -O - --revision 1)" = 1 ]
    o restore kept a 2
    [ "$(o get kept a -O -)" = 22 ]
    refused 4 o restore kept a 99
    o prune kept --keep 1 -n >"$scratch/prune"
    [ "$(o versions kept a --json | wc -l)" = 4 ]
    o prune kept --keep 1
    [ "$(o versions kept a --json | wc -l)" = 2 ]
}

case_search() {
    fresh
    printf 1 | o put pictures --name a --tag red --metadata owner=me
    printf 22 | o put pictures --name b --tag blue --metadata owner=me
    [ "$(o search pictures --tag red --names)" = a ]
    [ "$(o search pictures --metadata owner=me --names)" = "$(printf 'a\nb')" ]
    [ "$(o search pictures --names '{"size": {"$gt": 1}}')" = b ]
    [ -z "$(o search pictures --tag green)" ]
    refused 2 o search pictures '{'
}

case_watch() {
    fresh
    printf 1 | o put pictures --name a
    "$ASHLAR" -s "$store" --json object watch pictures >"$scratch/events" 2>"$scratch/said" &
    watcher=$!
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        grep -q current "$scratch/events" && break
        sleep 0.2
    done
    printf 2 | o put pictures --name b
    o rm pictures a
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        grep -q deleted "$scratch/events" && break
        sleep 0.2
    done
    kill -INT $watcher
    wait $watcher || true
    [ "$(field event <"$scratch/events")" = "$(printf 'put\ncurrent\nput\ndeleted')" ]
    [ "$(field name <"$scratch/events" | tr '\n' ' ')" = "a null b a " ]
}

case_a_server_ends_what_is_over() {
    fresh
    "$ASHLAR" -s "$store" serve --mongo 127.0.0.1:0 >"$scratch/serve" 2>&1 &
    server=$!
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        grep -q mongodb:// "$scratch/serve" && break
        sleep 0.2
    done
    printf 1 | o put pictures --name a --ttl 1s
    printf 2 | o put pictures --name b
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
        o status pictures --json >"$scratch/status"
        [ "$(field objects <"$scratch/status")" = 1 ] && break
        sleep 0.3
    done
    [ "$(field objects <"$scratch/status")" = 1 ]
    kill -TERM $server
    wait $server
}

case_other_stores() {
    fresh
    head -c 300000 /dev/urandom >"$scratch/big"
    o put pictures "$scratch/big"
    printf 1 | o put pictures --name small
    o copy pictures copy >"$scratch/copy"
    grep -q "^copied 2 " "$scratch/copy"
    o get copy big -O "$scratch/back"
    cmp "$scratch/big" "$scratch/back"
    o copy pictures copy | grep -q "^copied 0 "
    o copy pictures --to "$scratch/elsewhere" | grep -q "^copied 2 "
    "$ASHLAR" -s "$scratch/elsewhere" object get pictures big -O - >"$scratch/got"
    cmp "$scratch/got" "$scratch/big"
    refused 2 o copy pictures
    o add old >"$scratch/add"
    o archive pictures --archive old --min-size 1k >"$scratch/archive"
    grep -q "^moved 1 " "$scratch/archive"
    refused 1 o get pictures big -O -
    o get pictures big --archive old -O "$scratch/got"
    cmp "$scratch/got" "$scratch/big"
    o archive pictures --archive old --back | grep -q "^moved 1 "
    o get pictures big -O "$scratch/got"
    cmp "$scratch/got" "$scratch/big"
    o sweep pictures >"$scratch/sweep"
    grep -q "^went: 0 " "$scratch/sweep"
}

case_names_of_all_kinds() {
    fresh
    cd "$scratch"
    newline=$(printf 'a\nb.')
    newline=${newline%.}
    for name in 'two words' 'über/ö' "$newline" -x -- a/../b '*' '-'; do
        printf '%s' "$name" | o put pictures --name "$name" >"$scratch/put"
        [ "$(o get -O - -- pictures "$name")" = "$name" ]
        [ "$(o info --json -- pictures "$name" | field name)" = "$(printf '%s' "$name")" ] || [ "$name" = "$newline" ]
    done
    o ls pictures --names >"$scratch/names"
    [ "$(wc -l <"$scratch/names")" = 8 ]
    grep -qx 'a\\x0ab' "$scratch/names"
    mkdir "$scratch/names_there"
    (cd "$scratch/names_there" && o get -- pictures -x && [ "$(cat ./-x)" = -x ] && o get pictures 'über/ö' && [ "$(cat 'ö')" = 'über/ö' ])
    printf x >"$scratch/-y"
    o put pictures -- -y
    [ "$(o get -O - -- pictures -y)" = x ]
    o mv -- pictures -y --z
    o rm -- pictures --z -x
    refused 4 o info -- pictures -x
    for name in folder/ . ..; do
        printf x | o put pictures --name "$name" >"$scratch/put"
        refused 2 o get pictures "$name"
        grep -q -- "-O says where it goes" "$scratch/refused"
        [ "$(o get pictures "$name" -O -)" = x ]
    done
    refused 2 o put pictures "$scratch/put" --name ''
    printf x >"$scratch/file"
    refused 2 o put pictures "$scratch/file" --name "$(printf '\377')"
    grep -q UTF-8 "$scratch/refused"
}

case_what_is_given_twice() {
    fresh
    printf x | o put pictures --name a -H 'A: b' -H 'A:c' -H 'B: d' --metadata k=1 --metadata l=2 --metadata k=3
    o info pictures a --json >"$scratch/info"
    [ "$(field headers.A <"$scratch/info")" = '["b", "c"]' ]
    [ "$(field headers.B <"$scratch/info")" = '["d"]' ]
    [ "$(field metadata.k <"$scratch/info")" = 3 ]
    [ "$(field metadata.l <"$scratch/info")" = 2 ]
    [ "$(o info pictures a --adr | grep -o '"A"' | wc -l)" = 1 ]
}

case_mistakes_are_said() {
    fresh
    printf x | o put pictures --name a
    refused 2 o search pictures --metadata owner
    grep -q 'KEY=VALUE' "$scratch/refused"
    refused 2 o search pictures --tag ''
    refused 2 o expire pictures a --in 0s
    [ "$(o get pictures a -O -)" = x ]
    refused 2 o restore pictures a first
    grep -q 'REVISION is a whole number' "$scratch/refused"
    fails grep -- --REVISION "$scratch/refused"
    refused 4 o versions pictures none
    grep -q 'there is no object none' "$scratch/refused"
    refused 2 o put pictures "$scratch/add" --if-absent --if-revision 1
    grep -q -- '--if-absent and --if-revision' "$scratch/refused"
    refused 2 o get pictures a --range 0-0 --chunk 0
    grep -q -- '--range and --chunk' "$scratch/refused"
    refused 2 "$ASHLAR" -s "$store" -b pictures object ls
    refused 2 o put pictures -n "$scratch/add"
    o link pictures l --to pictures
    o ls pictures | grep -q ' l -> pictures$'
    o seal --force pictures
    for words in 'rm pictures a' 'meta pictures a --tag x' 'mv pictures a b' 'link pictures c a' 'expire pictures a --in 1d' 'put pictures /dev/null --name c'; do
        refused 9 o $words
        grep -q 'object store pictures is sealed$' "$scratch/refused"
        [ "$(wc -l <"$scratch/refused")" = 1 ]
    done
    for words in 'ls none' 'put none /dev/null' 'get none a' 'rm none a' 'seal --force none' 'sweep none' 'watch none' 'copy none other'; do
        refused 4 o $words
        grep -q 'there is no object store none$' "$scratch/refused"
    done
}

edit_anywhere() { # STORE: what every backend has
    a=$1
    "$ASHLAR" -s "$a" object add edited --description before --ttl 2h >"$scratch/add" 2>&1
    printf 'some text' | "$ASHLAR" -s "$a" object put edited --name a
    "$ASHLAR" -s "$a" object edit edited --max-bucket-size 1M --json >"$scratch/json"
    [ "$(field maxBytes <"$scratch/json")" = 1048576 ]
    [ "$(field ttlMs <"$scratch/json")" = 7200000 ]
    [ "$(field description <"$scratch/json")" = before ]
    "$ASHLAR" -s "$a" object edit edited --ttl 0s --description after >"$scratch/shown"
    grep -q 'TTL: unlimited$' "$scratch/shown"
    grep -q 'Description: after$' "$scratch/shown"
    grep -q 'Maximum: 1.0 MiB' "$scratch/shown"
    refused 8 "$ASHLAR" -s "$a" object edit edited --max-bucket-size 5 --description wrong
    grep -q 'has [0-9]* bytes already: --max-bucket-size$' "$scratch/refused"
    refused 2 "$ASHLAR" -s "$a" object edit edited
    refused 2 "$ASHLAR" -s "$a" object edit edited --compress --no-compress
    refused 4 "$ASHLAR" -s "$a" object edit none --ttl 1h
    [ "$("$ASHLAR" -s "$a" object status edited --json | field description)" = after ]
    [ "$("$ASHLAR" -s "$a" object get edited a -O -)" = 'some text' ]
}

case_edit() {
    fresh
    edit_anywhere "$store"
    o edit edited --keep 2 --metadata owner=me --max-objects 9 --json >"$scratch/json"
    [ "$(field keepLast <"$scratch/json")" = 2 ]
    [ "$(field metadata.owner <"$scratch/json")" = me ]
    for i in 1 2 3; do
        printf $i | o put edited --name versions
    done
    [ "$(o versions edited versions --json | wc -l)" = 3 ]
    o edit edited --metadata '' --keep all --json >"$scratch/json"
    [ "$(field metadata <"$scratch/json")" = null ]
    [ "$(field maxObjects <"$scratch/json")" = 9 ]
    [ "$(field keepLast <"$scratch/json")" = -1 ]
    refused 1 o edit edited --replicas 3
    grep -q ' --replicas: object stores here' "$scratch/refused"
    o seal --force edited
    refused 9 o edit edited --ttl 1h
}

case_edit_on_jetstream() {
    start_nats
    edit_anywhere "$nats"
    refused 1 "$ASHLAR" -s "$nats" object edit edited --keep 2 --description wrong
    grep -q ' --keep: object stores here' "$scratch/refused"
    [ "$("$ASHLAR" -s "$nats" object status edited --json | field description)" = after ]
    stop_nats
}

# Bytes that an archive should have: check asks, and what it advises helps.
case_check_looks_into_archives() {
    fresh
    o add cold >"$scratch/add"
    o edit pictures --keep all >"$scratch/edit"
    for name in a b c; do
        printf "bytes of $name" | o put pictures --name $name
    done
    o archive pictures --archive cold >"$scratch/archived"
    printf new | o put pictures --name c
    "$ASHLAR" -s "$store" check >"$scratch/checked"
    lost=$(o ls cold --names | sed -n 1p)
    past=$(o ls cold --names | sed -n 3p)
    o rm cold "$lost"
    o rm cold "$past"
    expect_status 7 "$ASHLAR" -s "$store" check
    grep -qx 'database test, object store pictures: the bytes of a, revision 1, are not in the archive cold' "$scratch/out"
    grep -qx 'database test, object store pictures: the bytes of c, revision 3, are not in the archive cold' "$scratch/out"
    fails grep -q 'bytes of b' "$scratch/out"
    grep -q 'lacks the bytes of 2 objects: a backup of the archive' "$scratch/err"
    fails grep -q 'copies what is whole' "$scratch/err"
    expect_status 7 "$ASHLAR" -s "$store" check --json
    grep missingInArchive "$scratch/out" | field name >"$scratch/names"
    [ "$(sort "$scratch/names" | tr '\n' ' ')" = 'a c ' ]
    expect_status 7 o get pictures a --archive cold -O "$scratch/got"
    grep -q 'the archive cold does not have the bytes of a$' "$scratch/err"
    fails grep -q 'copies what is whole' "$scratch/err"
    o rm --force cold
    "$ASHLAR" -s "$store" check >"$scratch/out" 2>"$scratch/err"
    grep -q 'bytes of 3 objects are in archives that are not beside' "$scratch/err"
}

# In the words of the command, not of the library; in --json words are joined alike everywhere.
case_words() {
    fresh
    refused 5 o add pictures --ttl 1h
    grep -q 'with another configuration: --ttl$' "$scratch/refused"
    refused 5 o add pictures --keep 3
    grep -q 'with another configuration: --keep$' "$scratch/refused"
    refused 1 o add more --replicas 3
    grep -q ' --replicas: object stores here (docs) do not have it$' "$scratch/refused"
    printf x | o put pictures --name keep_last --tag t
    o info pictures keep_last --json >"$scratch/json"
    [ "$(field options.maxChunkSize <"$scratch/json")" = 131072 ]
    fails grep -q '"[a-z]*_[a-z_]*" *:' "$scratch/json"
    o status pictures --json >"$scratch/json"
    fails grep -q '"[a-z]*_[a-z_]*" *:' "$scratch/json"
    [ "$(o search pictures --names '{"options.max_chunk_size": 131072}')" = keep_last ]
    [ "$(o mv pictures keep_last other)" = 'renamed keep_last to other' ]
    refused 4 o rm pictures keep_last
    grep -q 'no object keep_last' "$scratch/refused"
}

case_files_of_addresses() {
    fails "$ASHLAR" -s nats://127.0.0.1:1 object ls >"$scratch/refused" 2>&1
    fails grep -q 'lacks JetStream' "$scratch/refused" || skip 'built without libnats'
    for option in creds nkey tlsca; do
        refused 4 "$ASHLAR" -s nats://127.0.0.1:1 object ls --$option "$scratch/none"
        grep -q "$scratch/none: No such file or directory$" "$scratch/refused"
    done
}

# Refused for what it is: nothing is said of files that could not be written to.
case_a_mirror() {
    start_nats
    "$ASHLAR" -s "$nats" object add pictures >"$scratch/add"
    python3 -c 'import json, socket, sys
host, port = sys.argv[1].removeprefix("nats://").split(":")
body = json.dumps({"name": "OBJ_mirrored", "mirror": {"name": "OBJ_pictures"}, "allow_direct": True, "mirror_direct": True})
with socket.create_connection((host, int(port))) as s:
    lines = s.makefile("rb")
    s.sendall(f"CONNECT {{}}\r\nSUB answer 1\r\nPUB $JS.API.STREAM.CREATE.OBJ_mirrored answer {len(body)}\r\n{body}\r\n".encode())
    while not lines.readline().startswith(b"MSG"):
        pass
    answer = json.loads(lines.readline())
    sys.exit(answer.get("error"))' "$nats"
    refused 9 "$ASHLAR" -s "$nats" object put mirrored /dev/null --name a
    grep -q 'object store mirrored is a mirror$' "$scratch/refused"
    [ "$(wc -l <"$scratch/refused")" = 1 ]
    stop_nats
}

case_pipes_and_interruptions() {
    fresh
    head -c 5000000 /dev/zero | o put pictures --name zeros
    [ "$( (o get pictures zeros -O - || echo $? >"$scratch/status") | head -c 3 | wc -c)" = 3 ]
    [ "$(cat "$scratch/status")" = 141 ]
    mkfifo "$scratch/slow"
    "$ASHLAR" -s "$store" object put pictures --name slow <"$scratch/slow" >"$scratch/said" 2>&1 &
    putting=$!
    exec 8>"$scratch/slow"
    printf begun >&8
    sleep 0.5
    kill -INT $putting
    status=0
    wait $putting || status=$?
    exec 8>&-
    [ $status = 130 ]
    refused 4 o info pictures slow
    o sweep pictures --force >"$scratch/sweep"
    "$ASHLAR" -s "$store" check
}

# Bytes whose putter was killed: they stay for their age, are told, and go when nobody puts.
case_what_is_too_young() {
    fresh
    mkfifo "$scratch/stream"
    "$ASHLAR" -s "$store" object put pictures --name lost <"$scratch/stream" >"$scratch/said" 2>&1 &
    putting=$!
    exec 8>"$scratch/stream"
    head -c 20000000 /dev/zero >&8
    sleep 1 # chunks are committed within 100 ms
    kill -KILL $putting
    wait $putting || true
    exec 8>&-
    o sweep pictures -n >"$scratch/sweep"
    grep -q '^would go: 0 without an object (0 B)' "$scratch/sweep"
    grep -q '^would stay: 1 without an object (.* MiB), too young' "$scratch/sweep"
    o sweep pictures >"$scratch/sweep"
    grep -q '^stayed: 1 without an object (.* MiB), too young' "$scratch/sweep"
    o sweep pictures --min-age 1m --json >"$scratch/json"
    [ "$(field young <"$scratch/json")" = 1 ]
    [ "$(field youngBytes <"$scratch/json")" -gt 1000000 ]
    [ "$(field orphans <"$scratch/json")" = 0 ]
    for age in 0 0s 500ms 59s now; do
        refused 2 o sweep pictures --min-age $age
    done
    refused 2 o sweep pictures --min-age 0
    grep -q 'may be quiet for a while.*--force' "$scratch/refused"
    refused 2 o sweep pictures --min-age 1h --force
    o sweep pictures -n --force >"$scratch/sweep"
    grep -q '^would go: 1 without an object (.* MiB)' "$scratch/sweep"
    fails grep stay "$scratch/sweep"
    o sweep pictures --force >"$scratch/sweep"
    grep -q '^went: 1 without an object (.* MiB)' "$scratch/sweep"
    o sweep pictures --json >"$scratch/json"
    [ "$(field young <"$scratch/json")" = 0 ]
}

run_cases
