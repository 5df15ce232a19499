#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Links made by the command, followed by curl.
. "$(dirname "$0")/../lib.sh"
command -v curl >/dev/null || skip_all 'no curl'

start_http() { # STORE [ARGS…]
    start_server "$@" --http 127.0.0.1:0
    tries=0
    until grep -qs '^http://' "$scratch/server.out"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    http=$(sed -n 's|^\(http://[^/]*\)/.*|\1|p' "$scratch/server.out" | head -n 1)
}

# says STATUS CURL-ARGUMENT…: the body is in $scratch/body, the head in $scratch/head.
says() {
    wanted=$1
    shift
    got=$(curl -sS -o "$scratch/body" -D "$scratch/head" -w '%{http_code}' --path-as-is "$@")
    [ "$got" = "$wanted" ] && return 0
    echo "# $got instead of $wanted: curl $*" >&2
    head -c 2000 "$scratch/body" >&2
    return 1
}

a() {
    "$ASHLAR" -s "$store" "$@"
}

fill() { # STORE
    store=$1
    printf one >"$scratch/a.txt"
    printf secret >"$scratch/secret"
    a tree put -q "$scratch/a.txt" /d/a.txt
    a tree put -q "$scratch/secret" /secret
}

case_read_by_command_and_curl() {
    fill "$scratch/read"
    # In a folder that nobody serves, and through its server.
    link=$(a -q share --expires 1h /d)
    printf '%s\n' "$link" | grep -qx '/\.ashlar/share/[0-9a-f]\{40\}'
    start_http "$store"
    file=$(a share --url "$http/" /d/a.txt)
    says 200 "$file"
    [ "$(cat "$scratch/body")" = one ]
    says 200 "$http$link/"
    grep -q 'a\.txt' "$scratch/body"
    fails grep -q secret "$scratch/body"
    says 200 "$http$link/?format=tar"
    tar xOf "$scratch/body" d/a.txt | grep -qx one
    # The link as it was printed, with what is wanted behind it.
    says 200 "$http$link?format=tar"
    tar xOf "$scratch/body" d/a.txt | grep -qx one
    # Two shares, as text and as JSON; the links are not among it.
    a share ls >"$scratch/out"
    [ "$(wc -l <"$scratch/out")" = 2 ]
    grep -q '  read    /d/a\.txt  until ' "$scratch/out"
    [ "$(a --json share ls | field path | tr '\n' ' ')" = '/d /d/a.txt ' ]
    fails grep -q "${link##*/}" "$scratch/out"
    # It goes with what is shared, and outlives the server.
    a tree mv /d /moved
    kill -9 "$server_pid"
    wait "$server_pid" || true
    start_http "$store"
    says 200 "$http$link/a.txt"
    says 200 "$http/.ashlar/share/${file##*/}"
    [ "$(cat "$scratch/body")" = one ]
    # Taken back, by its id and by its token.
    id=$(a --json share ls | head -n 1 | field id)
    a share rm "$id"
    says 404 "$http$link/"
    a share rm "${file##*/}"
    says 404 "$http/.ashlar/share/${file##*/}"
    [ -z "$(a share ls)" ]
    stop_server
}

case_nothing_outside() {
    fill "$scratch/outside"
    start_http "$store"
    link=$http$(a -q share /d)
    for way in /../secret /%2e%2e/secret /..%2fsecret /a.txt/../../secret /%252e%252e/secret //secret /secret '/a.txt%00'; do
        got=$(curl -sS --path-as-is -o "$scratch/body" -w '%{http_code}' "$link$way")
        case $got in 400 | 404) ;; *) echo "# $got: $way" >&2 && return 1 ;; esac
        fails grep -qx secret "$scratch/body"
    done
    stop_server
}

case_expires() {
    fill "$scratch/expires"
    start_http "$store"
    link=$http$(a -q share --expires 2s /d/a.txt)
    says 200 "$link"
    sleep 2.1
    says 404 "$link"
    cp "$scratch/body" "$scratch/expired"
    says 404 "$http/.ashlar/share/0123456789012345678901234567890123456789"
    cmp "$scratch/body" "$scratch/expired"
    [ -z "$(a share ls)" ]
    [ "$(a --json -q share --expires never /d | field expires)" = null ]
    stop_server
}

case_upload() {
    fill "$scratch/upload"
    link=$(a -q share --upload --url http://host/ /d)
    start_http "$store"
    link=$http/.ashlar/share/${link##*/}
    [ "$(a --json share ls | field right)" = upload ]
    # As a browser sends a form, and as curl puts a file.
    head -c 3000000 /dev/urandom >"$scratch/large"
    printf two >"$scratch/b.txt"
    says 200 "$link"
    says 201 -F "file=@$scratch/large" -F "file=@$scratch/b.txt;type=text/x-b" -F "file=@$scratch/a.txt" "$link"
    grep -q 'b\.txt' "$scratch/body"
    says 201 -T "$scratch/secret" "$link/"
    # With a name that is there, too: it gets a number.
    says 201 -T "$scratch/secret" "$link/a.txt"
    fails grep -q '(' "$scratch/body"
    [ "$(a tree ls /d | tr '\n' ' ')" = 'a (2).txt a (3).txt a.txt b.txt large secret ' ]
    [ "$(a tree cat /d/a.txt)" = one ]
    [ "$(a tree cat '/d/a (3).txt')" = secret ]
    a tree cat /d/large | cmp - "$scratch/large"
    # Nothing of it can be seen.
    for way in /a.txt /large '/?format=tar' /../secret /secret; do
        curl -sS --path-as-is -o "$scratch/body" "$link$way"
        fails grep -qx secret "$scratch/body"
        fails grep -q 'a\.txt' "$scratch/body"
    done
    says 404 "$link/a.txt"
    # What ends early is not there.
    expect_status 28 curl -sS -m 1 --limit-rate 1000 -T "$scratch/large" "$link/half"
    fails a -q tree stat /d/half >"$scratch/out" 2>&1
    # After kill -9 the link is good, and what was acknowledged is there.
    says 201 -T "$scratch/b.txt" "$link/last"
    kill -9 "$server_pid"
    wait "$server_pid" || true
    [ "$(a tree cat /d/last)" = two ]
    start_http "$store"
    link=$http/.ashlar/share/${link##*/}
    says 201 -T "$scratch/b.txt" "$link/after"
    a share rm "$(a --json share ls | field id)"
    says 404 -T "$scratch/b.txt" "$link/gone"
    fails a -q tree stat /d/gone >"$scratch/out" 2>&1
    expect_status 2 a share --upload /d/a.txt
    stop_server
}

case_upload_of_so_much() {
    fill "$scratch/bounded"
    link=$(a -q share --upload --max 5 --max-files 2 /d)
    a --json share ls >"$scratch/out"
    [ "$(field maxBytes <"$scratch/out") $(field maxFiles <"$scratch/out")" = '5 2' ]
    start_http "$store"
    printf 123456 >"$scratch/six"
    says 413 -T "$scratch/six" "$http$link/six"
    says 201 -T "$scratch/a.txt" "$http$link/1"
    says 413 -T "$scratch/a.txt" "$http$link/2"
    # What has come is counted over a restart, too.
    kill -9 "$server_pid"
    wait "$server_pid" || true
    start_http "$store"
    says 413 -T "$scratch/a.txt" "$http$link/2"
    : >"$scratch/empty"
    says 201 -T "$scratch/empty" "$http$link/3"
    says 413 -T "$scratch/empty" "$http$link/4"
    a share ls >"$scratch/out"
    grep -q ' 2 of 2 files, 3 of 5 bytes came$' "$scratch/out"
    link=$(a -q share --upload --max none --max-files none /d)
    says 201 -T "$scratch/six" "$http$link/six"
    stop_server
}

case_not_in_logs() {
    fill "$scratch/logs"
    start_http "$store" --http-log "$scratch/access"
    link=$(a -q share /d)
    token=${link##*/}
    says 200 -H "Referer: $http$link/" "$http$link/a.txt"
    says 301 "$http$link"
    says 400 "$http$link/%"
    says 200 "$http/metrics"
    fails grep -q "$token" "$scratch/body"
    stop_server
    grep -q "/share/$(printf %.6s "$token")\.\.\./a\.txt" "$scratch/access"
    fails grep -q "$token" "$scratch/access"
    fails grep -q "$token" "$scratch/server.err"
    fails grep -rq "$token" "$store"
}

case_mistakes() {
    fill "$scratch/mistakes"
    expect_status 4 a share /none
    expect_status 2 a share --read --upload /d
    expect_status 2 a share /d /secret
    expect_status 2 a share
    expect_status 2 a share rm
    expect_status 2 a share ls x
    expect_status 2 a share --url x ls
    expect_status 2 a share --expires soon /d
    expect_status 2 a share --max 5 /d
    expect_status 2 a share --upload --max much /d
    expect_status 2 a share --upload --max-files 0 /d
    expect_status 2 a share --max-files 5 ls
    expect_status 4 a share rm 0123456789abcdef01234567
    expect_status 2 a share rm x
    expect_status 3 a share rm 0123456789abcdef01234567 0123456789abcdef01234568
    expect_status 4 a share --root nobody /d
    grep -q 'nobody.*--root NAME chooses' "$scratch/err"
    expect_status 0 a -n share /d
    [ -z "$(a share ls)" ]
    a tree put -q "$scratch/secret" /ls
    a -q share /ls >"$scratch/link"
    [ "$(a --json share ls | field path)" = /ls ]
    fails test -e "$scratch/new"
    expect_status 4 "$ASHLAR" -s "$scratch/new" share /d
    fails test -e "$scratch/new"
}

run_cases
