#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `ashlar gridfs`, and the command called as mongofiles: commands, options and output of MongoDB's tool.
. "$(dirname "$0")/../lib.sh"
store=$scratch/store
export ASHLAR_STORE="$store"
ln -s "$ASHLAR" "$scratch/mongofiles"
tab=$(printf '\t')
g() {
    "$ASHLAR" gridfs "$@"
}
m() {
    "$scratch/mongofiles" "$@"
}

case_put_list_get_delete() {
    cd "$scratch"
    head -c 700000 /dev/urandom >photo.jpg
    echo text >notes.txt
    g put photo.jpg notes.txt 2>log
    sed "s/^[^$tab]*$tab//" log >lines
    printf 'connected to: %s\nadding gridFile: photo.jpg\n\nadded gridFile: photo.jpg\n\nadding gridFile: notes.txt\n\nadded gridFile: notes.txt\n\n' \
        "$store" | cmp - lines
    grep -Eq "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}[+-][0-9]{4}${tab}connected" log
    [ "$(g list 2>log)" = "photo.jpg${tab}700000
notes.txt${tab}5" ]
    [ "$(g list no 2>log)" = "notes.txt${tab}5" ]
    [ "$(g list 'n.' 2>log | wc -l)" = 0 ]
    [ "$(g search 'o.o' 2>log)" = "photo.jpg${tab}700000" ]
    mkdir -p got && cd got
    g get photo.jpg notes.txt 2>log
    cmp photo.jpg ../photo.jpg
    cmp notes.txt ../notes.txt
    sed "s/^[^$tab]*$tab//" log | grep -qx 'finished writing to notes.txt'
    g delete notes.txt 2>log
    sed "s/^[^$tab]*$tab//" log | grep -qx "successfully deleted all instances of 'notes.txt' from GridFS"
    g delete notes.txt 2>log
    [ "$(g list 2>log)" = "photo.jpg${tab}700000" ]
    expect_status 4 "$ASHLAR" gridfs get photo.jpg notes.txt
    grep -q 'Failed: requested files not found: \[photo.jpg notes.txt\]' "$scratch/err"
}

case_ids() {
    cd "$scratch"
    echo by-id >file
    g --prefix ids put_id file '{"$oid": "5f3a00000000000000000001"}' 2>log
    g --prefix ids put_id file plain 2>log
    g --prefix ids put_id file '{"a": 1}' 2>log
    [ "$("$ASHLAR" -b ids --json ls --all 2>/dev/null | wc -l)" -ge 1 ]
    for id in '{"$oid": "5f3a00000000000000000001"}' 'ObjectId("5f3a00000000000000000001")' plain '{"a": 1}'; do
        [ "$(g --prefix ids get_id "$id" -l - 2>log)" = by-id ]
    done
    expect_status 5 "$ASHLAR" gridfs --prefix ids put_id file plain
    grep -q 'a file with the id .*plain.* exists already' "$scratch/err"
    g --prefix ids --replace put_id file plain 2>log
    [ "$(g --prefix ids list 2>log | wc -l)" = 1 ]
    g --prefix ids delete_id plain 2>log
    grep -q "successfully deleted file with _id plain from GridFS" log
    expect_status 4 "$ASHLAR" gridfs --prefix ids get_id plain
    grep -q 'no such file with _id: plain' "$scratch/err"
    expect_status 4 "$ASHLAR" gridfs --prefix ids delete_id plain
}

# The old file stays until the new one is there.
case_put_id_replaces_in_one_step() {
    one=$scratch/one-step
    "$ASHLAR" -s "$one" init -q
    echo old | "$ASHLAR" -s "$one" put -q --id '"x"' - doc
    echo another | "$ASHLAR" -s "$one" put -q --id '"y"' - other
    (echo new; sleep 3) | "$ASHLAR" -s "$one" gridfs --replace --local - put_id doc x 2>/dev/null &
    sleep 1
    kill -TERM $! 2>/dev/null || true
    wait $! || true
    "$ASHLAR" -s "$one" cat doc | grep -qx old
    fails "$ASHLAR" -s "$one" gridfs --replace --local "$scratch" put_id doc x 2>/dev/null
    fails "$ASHLAR" -s "$one" gridfs --replace --local "$scratch/trace" put_id doc y 2>/dev/null
    [ "$("$ASHLAR" -s "$one" cat 'id:"x"')" = old ]
    head -c 3000000 /dev/urandom >"$scratch/big"
    "$ASHLAR" -s "$one" gridfs --replace --local "$scratch/big" put_id doc x 2>/dev/null
    "$ASHLAR" -s "$one" cat 'id:"x"' | cmp - "$scratch/big"
    [ "$("$ASHLAR" -s "$one" ls | grep -c doc)" = 1 ]
    [ "$("$ASHLAR" -s "$one" cat other)" = another ]
    "$ASHLAR" -s "$one" --json sweep -n --min-age 1 | grep -q '"chunks" : 0'
}

case_local_type_replace_and_streams() {
    cd "$scratch"
    echo one >one
    echo two >two
    g -d other put -l one -t text/plain name 2>log
    g -d other put -l two name 2>log
    [ "$(g -d other list 2>log | wc -l)" = 2 ]
    [ "$(g -d other get name --local=- 2>log)" = two ]
    "$ASHLAR" -d other --json stat name@0 | grep -q '"contentType" : "text/plain"'
    echo three | g -d other put -r -l - name 2>log
    [ "$(g -d other list 2>log)" = "name${tab}6" ]
    g -d other get name -l back 2>log
    [ "$(cat back)" = three ]
    [ -z "$(g -d other --quiet put -l one name 2>&1)" ]
}

case_get_regex() {
    mkdir -p "$scratch/regex" "$scratch/regex-out"
    cd "$scratch/regex"
    for name in a1 a2 b1 A3; do
        echo "$name" >$name
    done
    g -d regex put a1 a2 b1 A3 2>log
    cd ../regex-out
    g -d regex get_regex '^a' 2>log
    [ "$(ls a1 a2 && ! ls b1 A3 2>/dev/null)" = "a1
a2" ]
    g -d regex --regexOptions i get_regex '^a' 2>log
    [ "$(cat A3)" = A3 ]
    expect_status 4 "$ASHLAR" gridfs -d regex get_regex '^z'
    grep -q 'files matching the following pattern were not found: ^z' "$scratch/err"
    expect_status 2 "$ASHLAR" gridfs -d regex get_regex '^a' -l x
    # A name chosen by somebody else does not lead out of the folder.
    echo evil | g -d regex put -l - ../evil 2>log
    expect_status 9 "$ASHLAR" gridfs -d regex get_regex 'evil'
    [ ! -e ../evil ]
}

case_mistakes() {
    for words in '' 'shuffle' 'get' 'put_id x' 'list a b' 'search' 'delete a b' '--prefix= list'; do
        expect_status 2 "$ASHLAR" gridfs $words
        grep -q 'error parsing command line options' "$scratch/err"
        expect_status 1 "$scratch/mongofiles" $words
    done
    expect_status 1 "$scratch/mongofiles" --uri http://x list
    expect_status 1 "$scratch/mongofiles" --uri mongodb://x --host y list
    expect_status 1 "$scratch/mongofiles" get missing
    "$scratch/mongofiles" --version | grep -q '^mongofiles version: '
    "$scratch/mongofiles" --help | grep -q get_regex
    "$scratch/mongofiles" --help | head -n 1 | grep -qx 'usage: mongofiles COMMAND .*'
    "$ASHLAR" gridfs --help | head -n 1 | grep -q '^usage: ashlar gridfs COMMAND'
    expect_status 1 "$scratch/mongofiles" --no-such-thing list
    grep -q '^mongofiles: unknown option --no-such-thing; `mongofiles --help` lists them' "$scratch/err"
}

case_called_as_mongofiles_against_a_server() {
    cd "$scratch"
    start_server "$scratch/served"
    host=${server_address%:*} port=${server_address##*:}
    head -c 300000 /dev/urandom >big
    m -d files --host "$host" --port "$port" put big 2>log
    grep -q "connected to: mongodb://$host:$port/files" log
    [ "$(m --db=files --host "$server_address" list 2>log)" = "big${tab}300000" ]
    [ "$(m --uri "mongodb://$server_address/files" list 2>log)" = "big${tab}300000" ]
    [ "$(m "mongodb://$server_address/files" list 2>log)" = "big${tab}300000" ]
    m --uri "mongodb://$server_address/files" --writeConcern majority put -l big again 2>log
    m --uri "mongodb://$server_address/files" --writeConcern '{"w": 1, "j": true}' --readPreference primary get again -l copy 2>log
    cmp big copy
    stop_server
}

run_cases
