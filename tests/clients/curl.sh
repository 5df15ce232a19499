#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# curl, unmodified: what scripts do with a share, and what servers get wrong that litmus does not ask.
# usage: ASHLAR=… curl.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/web.sh"
command -v curl >/dev/null || skip_all 'no curl'
start_web || exit 1

# expect STATUS ARGUMENT…: the body is in $scratch/body, the head in $scratch/head.
expect() {
    wanted=$1
    shift
    got=$(curl -s -o "$scratch/body" -D "$scratch/head" -w '%{http_code}' "$@")
    [ "$got" = "$wanted" ] && return 0
    echo "# $got and not $wanted: $*" >&2
    head -n 5 "$scratch/body" >&2
    return 1
}

head_field() { # NAME
    tr -d '\r' <"$scratch/head" | sed -n "s/^$1: //Ip"
}

case_a_file_there_and_back() {
    head -c 5000000 /dev/urandom >"$scratch/large"
    expect 201 -T "$scratch/large" "$http/large"
    expect 204 -T - "$http/large" <"$scratch/large"
    expect 200 "$http/large"
    cmp "$scratch/body" "$scratch/large"
    [ "$(head_field content-length)" = 5000000 ]
    expect 200 --http1.0 "$http/large"
    cmp "$scratch/body" "$scratch/large"
    expect 201 -T /dev/null "$http/none"
    expect 200 "$http/none"
    [ ! -s "$scratch/body" ]
    expect 409 -T "$scratch/large" "$http/no/folder"
}

case_parts() {
    head -c 2000000 "$scratch/large" >"$scratch/half"
    curl -sSf -C - -o "$scratch/half" "$http/large"
    cmp "$scratch/half" "$scratch/large"
    expect 206 -r -100 "$http/large"
    tail -c 100 "$scratch/large" | cmp - "$scratch/body"
    expect 416 -r 5000000- "$http/large"
    expect 206 -r 0-9,20-29 "$http/large"
    head_field content-type | grep -q '^multipart/byteranges'
    # What is a part for its sender must not become all there is.
    printf 1234 >"$scratch/four"
    expect 400 -T "$scratch/four" -H 'Content-Range: bytes 10-13/5000000' "$http/large"
    expect 200 -I "$http/large"
    [ "$(head_field content-length)" = 5000000 ]
    expect 204 -X PATCH -H 'Content-Type: application/x-sabredav-partialupdate' -H 'X-Update-Range: bytes=10-13' \
        --data-binary "@$scratch/four" "$http/large"
    expect 206 -r 9-14 "$http/large"
    [ "$(dd if="$scratch/body" bs=1 skip=1 count=4 2>/dev/null)" = 1234 ]
}

case_conditions() {
    printf one >"$scratch/one"
    expect 201 -T "$scratch/one" "$http/c"
    etag=$(head_field etag)
    case "$etag" in
    '"'*'"') ;;
    *) return 1 ;;
    esac
    expect 412 -T "$scratch/one" -H 'If-Match: "other"' "$http/c"
    expect 412 -T "$scratch/one" -H 'If-None-Match: *' "$http/c"
    expect 204 -T "$scratch/one" -H "If-Match: $etag" "$http/c"
    expect 412 -T "$scratch/one" -H 'If-Match: *' "$http/not-there"
    expect 412 -X DELETE -H 'If-Match: "other"' "$http/c"
    expect 304 -H "If-None-Match: $etag" "$http/c"
    curl -sSf -o "$scratch/body" --etag-save "$scratch/etag" "$http/c"
    expect 304 --etag-compare "$scratch/etag" "$http/c"
    expect 304 -z "$(curl -sSfI "$http/c" | tr -d '\r' | sed -n 's/^last-modified: //Ip')" "$http/c"
    expect 206 -r 0-0 -H "If-Range: $etag" "$http/c"
    expect 200 -r 0-0 -H 'If-Range: "other"' "$http/c"
}

case_times_and_digests() {
    expect 201 -T "$scratch/one" -H 'X-OC-Mtime: 981173106' "$http/t"
    [ "$(head_field x-oc-mtime)" = accepted ]
    expect 200 -I "$http/t"
    [ "$(head_field last-modified)" = 'Sat, 03 Feb 2001 04:05:06 GMT' ]
    sum=$(openssl dgst -sha256 -binary "$scratch/one" | base64)
    expect 204 -T "$scratch/one" -H "Repr-Digest: sha-256=:$sum:" "$http/t"
    printf two >"$scratch/two"
    expect 400 -T "$scratch/two" -H "Repr-Digest: sha-256=:$sum:" "$http/t"
    expect 200 "$http/t"
    cmp "$scratch/body" "$scratch/one"
}

case_bodies_that_are_no_good() {
    for body in '<' '<a/>' '<propfind xmlns="DAV:"/>' '<p:propfind/>' 'text'; do
        expect 400 -X PROPFIND -H 'Depth: 0' --data-binary "$body" "$http/"
    done
    expect 400 -X PROPFIND -H 'Depth: 0' --data-binary \
        '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><propfind xmlns="DAV:"><prop><a>&b;</a></prop></propfind>' "$http/"
    head -c 70000 /dev/zero | tr '\0' ' ' >"$scratch/blanks"
    expect 413 -X PROPFIND -H 'Depth: 0' --data-binary "@$scratch/blanks" "$http/"
    expect 403 -X PROPFIND "$http/"
    grep -q propfind-finite-depth "$scratch/body"
    expect 400 -X PROPFIND -H 'Depth: 2' "$http/"
    expect 415 -X MKCOL --data-binary '<x/>' -H 'Content-Type: text/xml' "$http/m"
    expect 404 -X PROPFIND -H 'Depth: 0' "$http/m"
}

case_no_way_out() {
    for path in /../etc/passwd /%2e%2e/etc/passwd /a/..%2f..%2fetc/passwd /a%00b /a%2fb /%ff /%zz; do
        expect 400 --path-as-is "$http$path"
        expect 400 --path-as-is -T "$scratch/one" "$http$path"
    done
    for to in http://other.example/x /../x "http://${http#http://}/%2e%2e/x"; do
        got=$(curl -s -o "$scratch/body" -w '%{http_code}' -X MOVE -H "Destination: $to" "$http/c")
        [ "$got" = 400 ] || [ "$got" = 502 ]
    done
    expect 403 -X COPY -H 'Destination: /c' "$http/c"
    expect 403 -X COPY -H "Destination: $http/.ashlar/x" "$http/c"
    expect 200 "$http/c"
}

case_the_store_is_whole() {
    expect_sound
}

run_cases
