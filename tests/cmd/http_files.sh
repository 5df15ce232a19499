#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files and folders by HTTP: curl, litmus and rclone against a server, beside the command on the same tree.
. "$(dirname "$0")/../lib.sh"
command -v curl >/dev/null || skip_all 'no curl'

start_http() { # STORE: sets $http
    start_server "$1" --http 127.0.0.1:0
    tries=0
    until grep -qs '^http://' "$scratch/server.out"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    http=$(sed -n 's|^\(http://[^/]*\)/.*|\1|p' "$scratch/server.out" | head -n 1)
}

t() {
    "$ASHLAR" -s "$store" tree "$@"
}

# says STATUS CURL-ARGUMENT…: the body is in $scratch/body, the head in $scratch/head.
says() {
    wanted=$1
    shift
    got=$(curl -sS -o "$scratch/body" -D "$scratch/head" -w '%{http_code}' "$@")
    [ "$got" = "$wanted" ] && return 0
    echo "# $got instead of $wanted: curl $*" >&2
    head -n 5 "$scratch/body" | sed 's/^/#   /' >&2
    return 1
}

of_head() { # NAME
    tr -d '\r' <"$scratch/head" | sed -n "s/^$1: //p"
}

case_there_and_back() {
    store=$scratch/back
    head -c 3000017 /dev/urandom >"$scratch/big"
    start_http "$store"
    says 201 -T "$scratch/big" "$http/big"
    says 200 "$http/big"
    cmp "$scratch/body" "$scratch/big"
    [ "$(of_head OC-Checksum)" = "SHA256:$(sha256sum "$scratch/big" | cut -d ' ' -f 1)" ]
    says 206 -r 1000000-1999999 "$http/big"
    tail -c +1000001 "$scratch/big" | head -c 1000000 | cmp - "$scratch/body"
    t get /big "$scratch/got"
    cmp "$scratch/got" "$scratch/big"
    printf more | says 204 -X PATCH -H 'X-Update-Range: append' --data-binary @- "$http/big"
    says 206 -r -7 "$http/big"
    { tail -c 3 "$scratch/big" && printf more; } | cmp - "$scratch/body"
    [ "$(t log /big --json | wc -l)" = 2 ]
    says 201 -X MKCOL "$http/folder"
    says 201 -X MOVE -H "Destination: $http/folder/a%20b" "$http/big"
    [ "$(t ls /folder)" = 'a b' ]
    says 204 -X DELETE "$http/folder"
    says 404 "$http/folder/a%20b"
    stop_server
}

case_conditions() {
    store=$scratch/conditions
    start_http "$store"
    printf one | says 201 -T - -H 'If-None-Match: *' "$http/a"
    etag=$(of_head ETag)
    printf two | says 412 -T - -H 'If-None-Match: *' "$http/a"
    says 304 -H "If-None-Match: $etag" "$http/a"
    printf two | says 204 -T - -H "If-Match: $etag" "$http/a"
    printf three | says 412 -T - -H "If-Match: $etag" "$http/a"
    [ "$(curl -sS "$http/a")" = two ]
    stop_server
}

# send_half URL PATH [PID]: half of a body, and then nothing more; or the process is killed.
send_half() {
    python3 -c 'import os, signal, socket, sys
host, port = sys.argv[1].removeprefix("http://").split(":")
with socket.create_connection((host, int(port))) as s:
    head = f"PUT {sys.argv[2]} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 8000000\r\n\r\n"
    s.sendall(head.encode() + open(sys.argv[3], "rb").read())
    if len(sys.argv) > 4:
        os.kill(int(sys.argv[4]), signal.SIGKILL)' "$1" "$2" "$scratch/half" ${3+"$3"}
}

# What did not come as a whole is not there, whoever went: the client, or the server.
case_cut_off() {
    store=$scratch/cut
    head -c 4000000 /dev/urandom >"$scratch/half"
    start_http "$store"
    says 400 -T "$scratch/half" -H 'Transfer-Encoding: chunked' -H 'X-Expected-Entity-Length: 4000001' "$http/a"
    says 400 -T "$scratch/half" -H 'OC-Checksum: SHA1:0000000000000000000000000000000000000000' "$http/a"
    send_half "$http" /a
    says 404 "$http/a"
    # Whoever reads the rest of it finds the client gone; and so ends the server.
    stop_server
    [ -z "$(t ls /)" ]
    start_http "$store"
    send_half "$http" /a "$server_pid"
    [ -z "$(t ls /)" ]
    t check
}

case_litmus() {
    command -v litmus >/dev/null || skip 'no litmus'
    store=$scratch/litmus
    start_http "$store"
    (cd "$scratch" && TESTS='basic copymove props locks http' litmus -k "$http/") >"$scratch/litmus.out" 2>&1
    stop_server
    fails grep -E 'FAIL|WARNING|SKIPPED' "$scratch/litmus.out"
    # It ends with 0 whatever happened.
    [ "$(grep -c '^<- summary for .* 0 failed\. 100\.0%$' "$scratch/litmus.out")" = 5 ]
    t check
}

case_rclone() {
    command -v rclone >/dev/null || skip 'no rclone'
    store=$scratch/rclone
    start_http "$store"
    mkdir -p "$scratch/here/sub folder/ünder"
    printf one >"$scratch/here/a"
    : >"$scratch/here/empty"
    printf two >"$scratch/here/sub folder/b%20&c"
    head -c 1000003 /dev/urandom >"$scratch/here/sub folder/ünder/d"
    touch -d '2001-02-03 04:05:06 UTC' "$scratch/here/a"
    export RCLONE_CONFIG="$scratch/rclone.conf"
    printf '[x]\ntype = webdav\nurl = %s\nvendor = owncloud\n' "$http" >"$RCLONE_CONFIG"
    rclone sync "$scratch/here" x:there
    rclone check "$scratch/here" x:there 2>"$scratch/check"
    [ "$(rclone lsf --format t x:there/a)" = "$(TZ= rclone lsf --format t "$scratch/here/a")" ]
    rm "$scratch/here/empty"
    printf three >"$scratch/here/a"
    rclone sync "$scratch/here" x:there
    rclone check "$scratch/here" x:there 2>"$scratch/check"
    rclone copy x:there "$scratch/again"
    diff -r "$scratch/here" "$scratch/again"
    stop_server
}

run_cases
