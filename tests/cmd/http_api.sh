#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page's API, archives, live changes, health and metrics, and who is not let in, by curl.
. "$(dirname "$0")/../lib.sh"
command -v curl >/dev/null || skip_all 'no curl'

start_http() { # STORE [ARGS…]
    store=$1
    shift
    start_server "$store" --http 127.0.0.1:0 "$@"
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
    got=$(curl -sS -o "$scratch/body" -D "$scratch/head" -w '%{http_code}' "$@")
    [ "$got" = "$wanted" ] && return 0
    echo "# $got instead of $wanted: curl $*" >&2
    cat "$scratch/body" >&2
    return 1
}

get() { # STATUS CALL [PARAMETER…]
    status=$1 call=$2
    shift 2
    set -- $(for p in "$@"; do printf -- '--data-urlencode %s ' "$p"; done)
    says "$status" -G "$@" "$http/.ashlar/tree/$call"
}

post() { # STATUS CALL JSON
    says "$1" -H 'Content-Type: application/json' -d "$3" "$http/.ashlar/tree/$2"
}

# what EXPRESSION: of the answer, as Python has it.
what() {
    python3 -c 'import json, sys
a = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$scratch/body" "$1"
}

put() { # PATH TEXT
    printf %s "$2" >"$scratch/text"
    curl -sS -f -T "$scratch/text" "$http$1"
}

case_reading() {
    start_http "$scratch/reading"
    says 201 -X MKCOL "$http/docs"
    put /docs/a.txt one
    put /docs/a.txt two2
    put /docs/b.txt bb
    get 200 list path=/docs
    [ "$(what '[(e["name"], e["length"], e["version"], e["path"]) for e in a["entries"]], a["more"]')" = \
        "([('a.txt', 4, 2, '/docs/a.txt'), ('b.txt', 2, 1, '/docs/b.txt')], False)" ]
    get 200 list path=/docs/ limit=1
    [ "$(what 'len(a["entries"]), a["more"]')" = '(1, True)' ]
    get 200 list path=/docs after=a.txt
    [ "$(what 'a["entries"][0]["name"]')" = b.txt ]
    get 200 list path=/ recursive=1
    [ "$(what 'len(a["entries"])')" = 3 ]
    get 200 stat path=/docs/a.txt
    [ "$(what 'a["type"], a["digest"][:8], a["folder"]')" = "('text/plain; charset=utf-8', '$(printf two2 | sha256sum | cut -c 1-8)', False)" ]
    get 200 history path=/docs/a.txt
    [ "$(what '[e["version"] for e in a["entries"]]')" = '[2, 1]' ]
    get 200 content path=/docs/a.txt version=1
    [ "$(cat "$scratch/body")" = one ]
    get 200 search path=/ q=A.T
    [ "$(what '[e["path"] for e in a["entries"]]')" = "['/docs/a.txt']" ]
    get 200 usage path=/
    [ "$(what 'a["files"], a["folders"] >= 1, a["bytes"], a["versions"], a["versionBytes"]')" = '(2, True, 6, 1, 3)' ]
    get 404 stat path=/no
    [ "$(what 'a["error"]["code"], a["error"]["status"]')" = "('ENOTFOUND', 404)" ]
    get 400 stat
    get 400 stat path=docs
    get 400 stat path=/docs/../docs
    get 400 list path=/docs at=yesterday
    get 404 nothing path=/
    says 405 "$http/.ashlar/tree/mkdir"
    says 405 -X POST "$http/.ashlar/tree/list"
    stop_server
}

case_changing() {
    start_http "$scratch/changing"
    post 200 mkdir '{"path": "/a/b", "make_folders": true}'
    post 409 mkdir '{"path": "/a/b"}'
    put /a/b/f.txt one
    post 200 copy '{"path": "/a/b/f.txt", "to": "/a/g.txt"}'
    post 409 copy '{"path": "/a/b/f.txt", "to": "/a/g.txt"}'
    post 200 move '{"path": "/a/b", "to": "/c"}'
    [ "$(what 'a["path"], a["folder"]')" = "('/c', True)" ]
    post 400 move '{"path": "/c", "to": "/c/d"}'
    put /c/f.txt two
    post 200 restore '{"path": "/c/f.txt", "version": 1}'
    says 200 "$http/c/f.txt"
    [ "$(cat "$scratch/body")" = one ]
    post 400 restore '{"path": "/c/f.txt"}'
    post 200 tag '{"path": "/c/f.txt", "tag": "good"}'
    [ "$(what 'a["tags"]')" = "['good']" ]
    post 409 delete '{"path": "/c"}'
    post 200 delete '{"path": "/c", "recursive": true}'
    id=$(what 'a["id"]')
    says 404 "$http/c/f.txt"
    get 200 trash path=/
    [ "$(what '[e["path"] for e in a["entries"]][0]')" = /c ]
    post 200 undelete "{\"path\": \"/\", \"id\": \"$id\"}"
    says 200 "$http/c/f.txt"
    post 400 undelete '{"path": "/", "id": "x"}'
    # A version that is not the newest any more.
    post 409 delete '{"path": "/c/f.txt", "if_version": 1}'
    says 415 -d '{"path": "/x"}' "$http/.ashlar/tree/mkdir"
    says 400 -H 'Content-Type: application/json' -d 'x' "$http/.ashlar/tree/mkdir"
    head -c 70000 /dev/zero | tr '\0' ' ' >"$scratch/long"
    says 413 -H 'Content-Type: application/json' --data-binary "@$scratch/long" "$http/.ashlar/tree/mkdir"
    stop_server
}

case_locks() {
    start_http "$scratch/locks"
    put /l x
    says 200 -X LOCK --data '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner><href>desk</href></owner></lockinfo>' "$http/l"
    get 200 locks path=/
    [ "$(what '[(l["path"], l["kind"], l["owner"], l["webdav"]) for l in a["locks"]]')" = "[('/l', 'exclusive', 'desk', True)]" ]
    for call in delete 'move","to":"/m' 'copy","to":"/l'; do
        case "$call" in
        delete) post 423 delete '{"path": "/l"}' ;;
        move*) post 423 move '{"path": "/l", "to": "/m"}' ;;
        esac
    done
    # The command sees it, and a program's is seen here.
    "$ASHLAR" -s "$store" -b v7files locks ls | grep -q write
    post 200 unlock '{"path": "/l"}'
    [ "$(what 'a["broken"]')" = 1 ]
    post 200 delete '{"path": "/l"}'
    stop_server
}

case_archives() {
    start_http "$scratch/archives"
    mkdir -p "$scratch/in/deep/é & x"
    printf one >"$scratch/in/one"
    head -c 3000000 /dev/urandom >"$scratch/in/deep/é & x/large"
    "$ASHLAR" -s "$store" tree put -r "$scratch/in" /in >/dev/null
    for how in tar tar.gz tar.zst; do
        says 200 "$http/.ashlar/archive/in/?format=$how"
        rm -rf "$scratch/out"
        mkdir "$scratch/out"
        case $how in
        tar) tar xf "$scratch/body" -C "$scratch/out" ;;
        tar.gz) tar xzf "$scratch/body" -C "$scratch/out" ;;
        tar.zst) command -v zstd >/dev/null || continue && zstd -dcq "$scratch/body" | tar x -C "$scratch/out" ;;
        esac
        diff -r "$scratch/in" "$scratch/out/in" || diff -r "$scratch/in" "$scratch/out"
    done
    says 200 "$http/.ashlar/archive/in/?format=zip"
    python3 - "$scratch/body" "$scratch/in" <<'PY'
import os, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
names = {n.rstrip("/") for n in z.namelist()}
for folder, _, files in os.walk(sys.argv[2]):
    for f in files:
        path = os.path.join(folder, f)
        name = os.path.relpath(path, sys.argv[2])
        name = name if name in names else "in/" + name
        assert z.read(name) == open(path, "rb").read(), name
PY
    says 400 "$http/.ashlar/archive/in/?format=rar"
    says 404 "$http/.ashlar/archive/no/?format=tar"
    says 405 -X PUT -d x "$http/.ashlar/archive/in/"
    stop_server
}

case_events() {
    start_http "$scratch/events"
    says 201 -X MKCOL "$http/here"
    curl -sSN --max-time 20 "$http/.ashlar/events/here/" >"$scratch/events.out" &
    listener=$!
    wait_for() {
        tries=0
        until grep -q "$1" "$scratch/events.out"; do
            tries=$((tries + 1))
            [ $tries -lt 200 ] || return 1
            sleep 0.05
        done
    }
    wait_for '^event: open'
    put /elsewhere x
    put /here/a x
    wait_for '"kind":"created","path":"/here/a"'
    "$ASHLAR" -s "$store" tree mv /here/a /here/b
    wait_for '"kind":"moved","path":"/here/b","from":"/here/a"'
    fails grep -q elsewhere "$scratch/events.out"
    # Whoever listens does not hold up a stop.
    stop_server
    wait $listener || true
}

case_strangers() {
    start_http "$scratch/strangers" --http-host files.example
    put /a x
    says 403 -H 'Host: evil.example' "$http/a"
    grep -q 'http-host evil.example' "$scratch/body"
    says 200 -H 'Host: files.example' "$http/a"
    says 200 -H 'Host: localhost:1' "$http/a"
    says 403 -H 'Origin: http://evil.example' -X DELETE "$http/a"
    says 403 -H 'Origin: null' -X DELETE "$http/a"
    says 403 -H 'Sec-Fetch-Site: cross-site' -X DELETE "$http/a"
    says 200 -H 'Origin: http://evil.example' "$http/a"
    says 204 -H "Origin: $http" -X DELETE "$http/a"
    # Its own name is no tree's.
    says 404 -X PUT -d x "$http/.ashlar/x"
    says 404 "$http/.ashlar"
    stop_server
}

case_health_and_metrics() {
    start_http "$scratch/health" --http-log "$scratch/access"
    says 200 "$http/health"
    [ "$(what 'a["status"]')" = pass ]
    says 200 "$http/.ashlar/health"
    says 200 "$http/metrics"
    grep -q '^ashlar_http_requests_total{code="2xx"} [1-9]' "$scratch/body"
    if command -v promtool >/dev/null; then
        promtool check metrics <"$scratch/body"
    fi
    # How much room there is, as file managers ask.
    says 207 -X PROPFIND -H 'Depth: 0' -d '<propfind xmlns="DAV:"><prop><quota-available-bytes/><quota-used-bytes/></prop></propfind>' "$http/"
    grep -q '<D:quota-available-bytes>[1-9][0-9]*<' "$scratch/body"
    grep -q '<D:quota-used-bytes>[0-9]*<' "$scratch/body"
    # A file of that name comes first.
    put /health mine
    says 200 "$http/health"
    [ "$(cat "$scratch/body")" = mine ]
    grep -q '"GET /metrics HTTP/1.1" 200 ' "$scratch/access"
    stop_server
}

case_what_was() {
    start_http "$scratch/past"
    says 201 -X MKCOL "$http/d"
    put /d/a.txt one
    sleep 1.1
    at=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    sleep 1.1
    put /d/a.txt two
    says 207 -X PROPFIND -H 'Depth: 1' "$http/.ashlar/versions/d/a.txt/"
    grep -q '<D:href>/.ashlar/versions/d/a.txt/v1-a.txt</D:href>' "$scratch/body"
    [ "$(grep -o '<D:response>' "$scratch/body" | wc -l)" = 3 ]
    says 200 "$http/.ashlar/versions/d/a.txt/v1-a.txt"
    [ "$(cat "$scratch/body")" = one ]
    says 207 -X PROPFIND -H 'Depth: 1' "$http/.ashlar/versions/"
    grep -q '<D:href>/.ashlar/versions/d/</D:href>' "$scratch/body"
    says 404 "$http/.ashlar/versions/d/a.txt/v9-a.txt"
    says 404 "$http/.ashlar/versions/no"
    says 204 -X MOVE -H 'Destination: /d/a.txt' "$http/.ashlar/versions/d/a.txt/v1-a.txt"
    says 200 "$http/d/a.txt"
    [ "$(cat "$scratch/body")" = one ]
    says 201 -X COPY -H 'Destination: /d/b.txt' "$http/.ashlar/versions/d/a.txt/v2-a.txt"
    says 200 "$http/d/b.txt"
    [ "$(cat "$scratch/body")" = two ]
    # As it was.
    says 207 -X PROPFIND -H 'Depth: 1' "$http/.ashlar/at/$at/d/"
    fails grep -q b.txt "$scratch/body"
    says 200 "$http/.ashlar/at/$at/d/a.txt"
    [ "$(cat "$scratch/body")" = one ]
    says 404 "$http/.ashlar/at/yesterday/d/"
    # The trash.
    says 204 -X DELETE "$http/d"
    says 207 -X PROPFIND -H 'Depth: 1' "$http/.ashlar/trash/"
    gone=$(grep -o '/.ashlar/trash/[0-9a-f]*-d/' "$scratch/body" | head -n 1)
    says 412 -X MOVE -H 'Destination: /x' -H 'If-Match: "x"' "$http$gone"
    says 201 -X MOVE -H 'Destination: /back' "$http$gone"
    says 200 "$http/back/a.txt"
    says 404 "$http$gone"
    for method in PUT DELETE PROPPATCH LOCK MKCOL; do
        says 403 -X $method "$http/.ashlar/versions/back/a.txt/v1-a.txt"
    done
    says 403 -X PROPFIND "$http/.ashlar/versions/"
    says 200 -H 'Accept: text/html' "$http/.ashlar/versions/back/a.txt/"
    grep -q '<a href="./v1-a.txt">' "$scratch/body"
    # For scripts, a name a line, as of the tree's own folders.
    says 200 "$http/.ashlar/versions/back/"
    [ "$(cat "$scratch/body")" = "$(printf 'a.txt/\nb.txt/')" ]
    grep -qi '^Content-Type: text/plain' "$scratch/head"
    says 200 "$http/.ashlar/at/$at/d/"
    [ "$(cat "$scratch/body")" = a.txt ]
    says 204 -X DELETE "$http/back/b.txt"
    says 200 "$http/.ashlar/trash/"
    grep -qx '[0-9a-f]*-b.txt' "$scratch/body"
    stop_server
}

case_page() {
    start_http "$scratch/page"
    says 201 -X MKCOL "$http/folder"
    put '/%3Cb%3E%22%26.txt' x
    says 200 -H 'Accept: text/html' "$http/"
    grep -q '<a href="/folder/">' "$scratch/body"
    grep -q '&lt;b&gt;&quot;&amp;.txt' "$scratch/body"
    fails grep -q '<b>' "$scratch/body"
    grep -qi "^Content-Security-Policy: default-src 'none'; script-src 'self'" "$scratch/head"
    says 301 -H 'Accept: text/html' "$http/folder"
    says 404 -H 'Accept: text/html' "$http/no"
    # All of it together, as a browser loads it.
    total=$(wc -c <"$scratch/body")
    says 200 -H 'Accept: text/html' "$http/folder/"
    total=$(wc -c <"$scratch/body")
    for asset in $(grep -o '/.ashlar/assets/[^"]*' "$scratch/body"); do
        says 200 "$http$asset"
        grep -qi '^Cache-Control: public, max-age=31536000, immutable' "$scratch/head"
        total=$((total + $(wc -c <"$scratch/body")))
    done
    [ "$total" -lt 40960 ]
    stop_server
}

run_cases
