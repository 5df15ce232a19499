#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Buckets and object stores by HTTP, by curl, beside the command on the same store.
. "$(dirname "$0")/../lib.sh"
command -v curl >/dev/null || skip_all 'no curl'

start_http() { # STORE
    store=$1
    start_server "$store" --http 127.0.0.1:0
    tries=0
    until grep -qs '^http://' "$scratch/server.out"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    http=$(sed -n 's|^\(http://[^/]*\)/.*|\1|p' "$scratch/server.out" | head -n 1)/.ashlar
}

says() { # STATUS CURL-ARGUMENT…
    wanted=$1
    shift
    got=$(curl -sS -o "$scratch/body" -D "$scratch/head" -w '%{http_code}' "$@")
    [ "$got" = "$wanted" ] && return 0
    echo "# $got instead of $wanted: curl $*" >&2
    cat "$scratch/body" >&2
    return 1
}

field() {
    sed -n "s/^$1: \(.*\)\r\$/\1/Ip" "$scratch/head"
}

case_buckets() {
    start_http "$scratch/buckets"
    head -c 700000 /dev/urandom >"$scratch/large"
    printf one >"$scratch/one"
    says 201 -T "$scratch/large" "$http/buckets/test/fs/name/a/large.bin"
    id=$(sed -n 's|.*"$oid" : "\([0-9a-f]*\)".*|\1|p' "$scratch/body")
    location=$(field Location)
    [ "${location##*/}" = "$id" ]
    "$ASHLAR" -s "$store" -d test cat a/large.bin | cmp - "$scratch/large"
    says 200 "$http/buckets/test/fs/id/$id"
    cmp "$scratch/body" "$scratch/large"
    etag=$(field ETag)
    [ "$(field Repr-Digest)" = "sha-256=:$(openssl dgst -sha256 -binary "$scratch/large" | base64):" ]
    says 304 -H "If-None-Match: $etag" "$http/buckets/test/fs/id/$id"
    says 206 -H 'Range: bytes=300000-300009' "$http/buckets/test/fs/name/a/large.bin"
    [ "$(od -An -tx1 "$scratch/body")" = "$(tail -c +300001 "$scratch/large" | head -c 10 | od -An -tx1)" ]
    [ "$(field Content-Range)" = 'bytes 300000-300009/700000' ]
    says 416 -H 'Range: bytes=700000-' "$http/buckets/test/fs/id/$id"
    says 200 -I "$http/buckets/test/fs/id/$id"
    [ "$(field Content-Length)" = 700000 ]
    # Revisions, and a first one only.
    says 201 -T "$scratch/one" "$http/buckets/test/fs/name/a/large.bin"
    says 200 "$http/buckets/test/fs/name/a/large.bin"
    [ "$(cat "$scratch/body")" = one ]
    says 200 "$http/buckets/test/fs/name/a/large.bin?revision=0"
    cmp "$scratch/body" "$scratch/large"
    says 412 -H 'If-None-Match: *' -T "$scratch/one" "$http/buckets/test/fs/name/a/large.bin"
    says 201 --data-binary @"$scratch/one" -H 'Content-Type: text/plain' "$http/buckets/test/fs?name=b&metadata=%7B%22k%22%3A1%7D"
    says 200 "$http/buckets/test/fs"
    [ "$(wc -l <"$scratch/body")" = 3 ]
    grep -q '"metadata" : { "k" : 1 }' "$scratch/body"
    says 200 "$http/buckets/test/fs?prefix=a/"
    [ "$(wc -l <"$scratch/body")" = 2 ]
    says 204 -X DELETE "$http/buckets/test/fs/id/$id"
    says 404 "$http/buckets/test/fs/id/$id"
    says 204 -X DELETE "$http/buckets/test/fs/name/a/large.bin"
    says 404 "$http/buckets/test/fs/name/a/large.bin"
    # What is refused.
    says 400 --data-binary x "$http/buckets/test/fs?name=c&metadata=x"
    says 400 --data-binary x "$http/buckets/test/fs"
    says 400 "$http/buckets/test/fs/id/%7Bx"
    says 404 "$http/buckets/test"
    says 404 "$http/buckets/test/fs/other/x"
    says 405 -X PATCH "$http/buckets/test/fs/name/b"
    stop_server
}

# A body that ends early leaves nothing.
case_cut_off() {
    start_http "$scratch/cut"
    says 201 -X PUT "$http/objects/o"
    for target in buckets/test/fs/name/cut objects/o/data/cut; do
        python3 - "$http/$target" <<'PY'
import socket, sys, urllib.parse
u = urllib.parse.urlparse(sys.argv[1])
s = socket.create_connection((u.hostname, u.port))
s.sendall(f"PUT {u.path} HTTP/1.1\r\nHost: {u.netloc}\r\nContent-Length: 1000000\r\n\r\n".encode() + b"x" * 500000)
s.close()
PY
    done
    sleep 0.5
    says 404 "$http/buckets/test/fs/name/cut"
    says 404 "$http/objects/o/data/cut"
    stop_server
}

# Many at once are bounded, and those that went give their places back.
case_crowd() {
    start_http "$scratch/crowd"
    python3 - "$http" <<'PY'
import socket, sys, time, urllib.parse
u = urllib.parse.urlparse(sys.argv[1])
def begin(path, length, more=""):
    s = socket.create_connection((u.hostname, u.port))
    s.sendall(f"PUT {u.path}{path} HTTP/1.1\r\nHost: {u.netloc}\r\n{more}Content-Length: {length}\r\n\r\nx".encode())
    return s
crowd = [begin(f"/buckets/test/fs/name/n{i}", 100000) for i in range(60)]
time.sleep(1)
refused = 0
for s in crowd:
    s.setblocking(False)
    try:
        refused += s.recv(100).startswith(b"HTTP/1.1 503")
    except BlockingIOError:
        pass
assert refused == 28, refused
for s in crowd:
    s.close()
for _ in range(100):
    s = begin("/buckets/test/fs/name/after", 1, "Connection: close\r\n")
    if s.recv(100).startswith(b"HTTP/1.1 201"):
        break
    time.sleep(0.05)
else:
    raise SystemExit("no place is given back")
PY
    stop_server
}

case_objects() {
    start_http "$scratch/objects"
    head -c 700000 /dev/urandom >"$scratch/large"
    says 404 "$http/objects/pictures"
    says 201 -X PUT -d '{"description": "of roofs", "keep_last": 2}' "$http/objects/pictures"
    says 409 -X PUT -d '{"description": "other"}' "$http/objects/pictures"
    says 400 -X PUT -d 'x' "$http/objects/other"
    says 201 -H 'Content-Type: image/jpeg' -T "$scratch/large" "$http/objects/pictures/data/a/roof.jpg?description=old"
    first=$(field ETag)
    "$ASHLAR" -s "$store" object get pictures a/roof.jpg -O - | cmp - "$scratch/large"
    says 200 "$http/objects/pictures/data/a/roof.jpg"
    cmp "$scratch/body" "$scratch/large"
    [ "$(field Content-Type)" = image/jpeg ] && [ "$(field ETag)" = "$first" ]
    [ "$(field Repr-Digest)" = "sha-256=:$(openssl dgst -sha256 -binary "$scratch/large" | base64):" ]
    says 206 -H 'Range: bytes=-5' "$http/objects/pictures/data/a/roof.jpg"
    [ "$(od -An -tx1 "$scratch/body")" = "$(tail -c 5 "$scratch/large" | od -An -tx1)" ]
    printf two >"$scratch/two"
    says 412 -H 'If-None-Match: *' -T "$scratch/two" "$http/objects/pictures/data/a/roof.jpg"
    says 201 -H "If-Match: $first" -T "$scratch/two" "$http/objects/pictures/data/a/roof.jpg"
    says 412 -H "If-Match: $first" -T "$scratch/large" "$http/objects/pictures/data/a/roof.jpg"
    says 200 "$http/objects/pictures/data/a/roof.jpg"
    [ "$(cat "$scratch/body")" = two ]
    says 200 "$http/objects/pictures/info/a/roof.jpg"
    grep -q 'roof.jpg' "$scratch/body"
    says 200 "$http/objects/pictures/info"
    [ "$(wc -l <"$scratch/body")" = 1 ]
    says 200 "$http/objects/pictures/info?prefix=b"
    [ ! -s "$scratch/body" ]
    says 200 "$http/objects"
    grep -q '"name" : "pictures"' "$scratch/body"
    says 412 -X DELETE -H "If-Match: $first" "$http/objects/pictures/data/a/roof.jpg"
    says 204 -X DELETE "$http/objects/pictures/data/a/roof.jpg"
    says 404 "$http/objects/pictures/data/a/roof.jpg"
    says 405 -X POST "$http/objects/pictures/data/x"
    says 404 "$http/objects/pictures/other/x"
    says 204 -X DELETE "$http/objects/pictures"
    says 404 "$http/objects/pictures"
    stop_server
}

run_cases
