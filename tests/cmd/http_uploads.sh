#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Uploads that go on where they stopped (tus), by curl: also after kill -9 of the server.
. "$(dirname "$0")/../lib.sh"
command -v curl >/dev/null || skip_all 'no curl'

start_http() {
    start_server "$1" --http 127.0.0.1:0
    tries=0
    while ! grep -qs '^http://' "$scratch/server.out"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    http=$(sed -n 's|^\(http://[^/]*\)/.*|\1|p' "$scratch/server.out")
}

# asks STATUS CURL-ARGUMENTS…: the answer's head is in head, its body in body.
asks() {
    wanted=$1
    shift
    got=$(curl -sS -o "$scratch/body" -D "$scratch/head" -w '%{http_code}' -H 'Tus-Resumable: 1.0.0' "$@")
    [ "$got" = "$wanted" ] && return 0
    echo "# $got instead of $wanted: curl $*" >&2
    cat "$scratch/body" >&2
    return 1
}

field() {
    sed -n "s/^$1: \(.*\)\r\$/\1/Ip" "$scratch/head"
}

create() { # PATH LENGTH [MORE-METADATA]
    asks 201 -X POST -H "Upload-Length: $2" -H "Upload-Metadata: path $(printf %s "$1" | base64 -w 0)${3-}" "$http/.ashlar/uploads/"
    upload=$http$(field Location)
}

patch() { # STATUS OFFSET FILE
    asks "$1" -X PATCH -H "Upload-Offset: $2" -H 'Content-Type: application/offset+octet-stream' --data-binary "@$3" "$upload"
}

case_in_two_pieces() {
    start_http "$scratch/two"
    printf 'hello ' >"$scratch/one"
    printf 'world' >"$scratch/two.txt"
    create /a.txt 11 ",filetype $(printf 'text/x-greeting' | base64),modified $(printf 1000000000000 | base64)"
    patch 204 0 "$scratch/one"
    [ "$(field Upload-Offset)" = 6 ]
    asks 404 "$http/a.txt"
    asks 200 -I "$upload"
    [ "$(field Upload-Offset)" = 6 ] && [ "$(field Upload-Length)" = 11 ]
    patch 409 0 "$scratch/one"
    [ "$(field Upload-Offset)" = 6 ]
    patch 413 6 "$scratch/server.out"
    patch 204 6 "$scratch/two.txt"
    etag=$(field ETag)
    asks 200 "$http/a.txt"
    [ "$(cat "$scratch/body")" = 'hello world' ]
    [ "$(field Content-Type)" = text/x-greeting ] && [ "$(field ETag)" = "$etag" ]
    [ "$(field Last-Modified)" = 'Sun, 09 Sep 2001 01:46:40 GMT' ]
    # What it was stays known, and nothing is done twice.
    asks 200 -I "$upload"
    [ "$(field Upload-Offset)" = 11 ]
    stop_server
    [ "$("$ASHLAR" -s "$scratch/two" tree cat /a.txt)" = 'hello world' ]
}

# Many clients know what a file is called, and of no path.
case_by_a_name() {
    start_http "$scratch/named"
    printf 'hello' >"$scratch/hello"
    asks 201 -X POST -H 'Upload-Length: 5' -H "Upload-Metadata: filename $(printf 'ä b.txt' | base64)" "$http/.ashlar/uploads/"
    upload=$http$(field Location)
    patch 204 0 "$scratch/hello"
    asks 200 "$http/%C3%A4%20b.txt"
    [ "$(cat "$scratch/body")" = hello ]
    # A path goes before a name.
    asks 201 -X POST -H 'Upload-Length: 0' -H "Upload-Metadata: filename $(printf a | base64),path $(printf /b | base64)" "$http/.ashlar/uploads/"
    asks 200 "$http/b"
    asks 404 "$http/a"
    stop_server
}

case_what_is_refused() {
    start_http "$scratch/refused"
    asks 400 -X POST -H 'Upload-Length: 1' "$http/.ashlar/uploads/"
    asks 400 -X POST -H 'Upload-Length: -1' -H "Upload-Metadata: path $(printf /a | base64)" "$http/.ashlar/uploads/"
    asks 400 -X POST -H 'Upload-Length: 1' -H "Upload-Metadata: path $(printf /../a | base64)" "$http/.ashlar/uploads/"
    asks 400 -X POST -H 'Upload-Length: 1' -H "Upload-Metadata: path $(printf /a/ | base64)" "$http/.ashlar/uploads/"
    asks 409 -X POST -H 'Upload-Length: 1' -H "Upload-Metadata: path $(printf /no/a | base64)" "$http/.ashlar/uploads/"
    # What clients try that were told of less than they can.
    asks 400 -X POST -H 'Upload-Length: 1' -H "Upload-Metadata: name $(printf a | base64)" "$http/.ashlar/uploads/"
    grep -q 'needs `path`' "$scratch/body"
    asks 400 -X POST -H 'Upload-Defer-Length: 1' -H "Upload-Metadata: path $(printf /a | base64)" "$http/.ashlar/uploads/"
    grep -q 'Upload-Defer-Length' "$scratch/body"
    asks 400 -X POST -H 'Upload-Length: 1' -H 'Upload-Concat: partial' -H "Upload-Metadata: path $(printf /a | base64)" "$http/.ashlar/uploads/"
    grep -q 'Upload-Concat' "$scratch/body"
    asks 400 -X POST -H 'Upload-Length: 1' -H "Upload-Metadata: filename $(printf ../a | base64)" "$http/.ashlar/uploads/"
    [ "$(curl -s -o /dev/null -w '%{http_code}' -X POST -H 'Tus-Resumable: 2.0.0' "$http/.ashlar/uploads/")" = 412 ]
    asks 404 -I "$http/.ashlar/uploads/00000000000000000000000000000000"
    asks 404 -I "$http/.ashlar/uploads/x"
    printf x >"$scratch/x"
    asks 201 -T "$scratch/x" "$http/there"
    asks 412 -X POST -H 'Upload-Length: 1' -H "Upload-Metadata: path $(printf /there | base64),if_absent $(printf true | base64)" "$http/.ashlar/uploads/"
    create /gone 5
    asks 204 -X DELETE "$upload"
    asks 404 -I "$upload"
    create /typed 1
    asks 415 -X PATCH -H 'Upload-Offset: 0' --data-binary x "$upload"
    # Somebody else's file comes while the bytes do.
    create /race 1 ",if_absent $(printf true | base64)"
    asks 201 -T "$scratch/x" "$http/race"
    patch 412 0 "$scratch/x"
    stop_server
}

case_a_lock_stands_in_the_way() {
    start_http "$scratch/lock"
    printf x >"$scratch/x"
    asks 201 -T "$scratch/x" "$http/l"
    create /l 1
    asks 200 -X LOCK --data '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>' "$http/l"
    patch 423 0 "$scratch/x"
    token=$(field Lock-Token)
    asks 423 -X POST -H 'Upload-Length: 1' -H "Upload-Metadata: path $(printf /l | base64)" "$http/.ashlar/uploads/"
    stop_server
}

# What was told is there after a kill at any moment, and the file is the one that was sent.
case_killed() {
    start_http "$scratch/killed"
    head -c 30000000 /dev/urandom >"$scratch/large"
    create /large 30000000
    kills=0
    while :; do
        told=0
        asks 200 -I "$upload"
        told=$(field Upload-Offset)
        tail -c "+$((told + 1))" "$scratch/large" >"$scratch/rest"
        if [ $kills -lt 4 ]; then
            curl -sS --limit-rate 20M -o /dev/null -H 'Tus-Resumable: 1.0.0' -X PATCH -H "Upload-Offset: $told" -H 'Content-Type: application/offset+octet-stream' \
                --data-binary "@$scratch/rest" "$upload" 2>/dev/null &
            client=$!
            sleep 0.3
            asks 200 -I "$upload"
            before=$(field Upload-Offset)
            kill -9 "$server_pid"
            wait $client || true
            kills=$((kills + 1))
            start_http "$scratch/killed"
            upload=$http/.ashlar/uploads/${upload##*/}
            asks 200 -I "$upload"
            [ "$(field Upload-Offset)" -ge "$before" ]
        else
            patch 204 "$told" "$scratch/rest"
            break
        fi
    done
    curl -sS "$http/large" | cmp - "$scratch/large"
    stop_server
    "$ASHLAR" -s "$scratch/killed" check >/dev/null
    "$ASHLAR" -s "$scratch/killed" tree check >/dev/null
}

run_cases
