#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Clients of HTTP, unmodified, with users: curl, rclone and davfs2 by password and by token, also by https; cadaver by password.
# usage: ASHLAR=… [RCLONE=PROGRAM] users_http.sh [CASE…]
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/web.sh"
. "$here/mounted.sh"
. "$here/../tls_files.sh"
users() {
    "$ASHLAR" -s "$scratch/store" user "$@"
}
echo pencil | users add ann --role readWrite@test
echo brush | users add bob --role read@test
token=$(users token add ann)
narrow=$(users token --read --path /docs add ann)
start_web || exit 1
"$ASHLAR" -s "$scratch/store" tree mkdir /docs /private
"$ASHLAR" -s "$scratch/store" tree acl --read user:ann --write user:ann /private

# status ARGS…: of curl's answer
status() {
    curl -s -o "$scratch/body" -w '%{http_code}' "$@"
}

case_curl() {
    echo text >"$scratch/file"
    [ "$(status "$http/")" = 401 ]
    [ "$(status -u ann:wrong "$http/")" = 401 ]
    [ "$(status -u ann:pencil -T "$scratch/file" "$http/docs/a")" = 201 ]
    [ "$(status --anyauth -u ann:pencil "$http/docs/a")" = 200 ]
    [ "$(status -u bob:brush "$http/docs/a")" = 200 ]
    [ "$(status -u bob:brush -T "$scratch/file" "$http/docs/b")" = 403 ]
    [ "$(status --oauth2-bearer "$token" -T "$scratch/file" "$http/docs/b")" = 201 ]
    [ "$(status --oauth2-bearer "$narrow" "$http/docs/b")" = 200 ]
    [ "$(status --oauth2-bearer "$narrow" "$http/")" = 403 ]
    [ "$(status --oauth2-bearer "$narrow" -T "$scratch/file" "$http/docs/c")" = 403 ]
    [ "$(status --path-as-is --oauth2-bearer "$narrow" "$http/docs/../private")" = 400 ]
}

# Buckets and object stores; what a tree is made of is read past its lists by nobody.
case_other_roads() {
    b=$http/.ashlar/buckets
    o=$http/.ashlar/objects
    [ "$(status "$b/test/fs")" = 401 ]
    [ "$(status -u ann:pencil -T "$scratch/file" "$b/test/fs/name/one")" = 201 ]
    [ "$(status -u bob:brush "$b/test/fs/name/one")" = 200 ]
    [ "$(status -u bob:brush -T "$scratch/file" "$b/test/fs/name/two")" = 403 ]
    [ "$(status -u bob:brush -X DELETE "$b/test/fs/name/one")" = 403 ]
    [ "$(status -u ann:pencil "$b/other/fs")" = 403 ]
    [ "$(status -u ann:pencil "$b/admin/system")" = 403 ]
    [ "$(status -u ann:pencil "$b/test/v7.fs")" = 403 ]
    [ "$(status -u ann:pencil "$b/test/v7files")" = 403 ]
    [ "$(status --oauth2-bearer "$narrow" "$b/test/fs")" = 403 ]
    [ "$(status "$o")" = 401 ]
    [ "$(status -u bob:brush -X PUT "$o/pictures")" = 403 ]
    [ "$(status -u ann:pencil -X PUT "$o/pictures")" = 201 ]
    [ "$(status -u bob:brush "$o/pictures")" = 200 ]
    [ "$(status -u bob:brush -X DELETE "$o/pictures")" = 403 ]
    [ "$(status -u ann:pencil "$http/metrics")" = 403 ]
}

# The form, as a browser without scripts sends it; the cookie is good afterwards, and gone at the end.
case_a_form() {
    rm -f "$scratch/jar"
    [ "$(status -H 'Accept: text/html' "$http/docs/")" = 303 ]
    [ "$(status -c "$scratch/jar" -d name=ann -d password=pencil "$http/.ashlar/login")" = 403 ]
    [ "$(status -c "$scratch/jar" -H "Origin: $http" -d name=ann -d password=pencil -d to=/docs/ "$http/.ashlar/login")" = 303 ]
    [ "$(status -b "$scratch/jar" -H 'Accept: text/html' "$http/docs/")" = 200 ]
    grep -q 'Sign out <bdi>ann' "$scratch/body"
    [ "$(status -b "$scratch/jar" -T "$scratch/file" "$http/docs/by-cookie")" = 403 ]
    [ "$(status -b "$scratch/jar" -H "Origin: $http" -T "$scratch/file" "$http/docs/by-cookie")" = 201 ]
    [ "$(status -b "$scratch/jar" -H "Origin: $http" -X POST "$http/.ashlar/logout")" = 303 ]
    [ "$(status -b "$scratch/jar" "$http/docs/")" = 401 ]
}

case_rclone() {
    rclone=${RCLONE:-rclone}
    command -v "$rclone" >"$scratch/found" || { skip 'no rclone'; return 0; }
    export HOME="$scratch"
    cat >"$scratch/rclone.conf" <<END
[password]
type = webdav
url = $http
vendor = other
user = ann
pass = $("$rclone" obscure pencil)
[token]
type = webdav
url = $http
vendor = other
bearer_token = $token
[reader]
type = webdav
url = $http
vendor = other
user = bob
pass = $("$rclone" obscure brush)
[stranger]
type = webdav
url = $http
vendor = other
END
    set -- --config "$scratch/rclone.conf" --retries 1 --low-level-retries 1
    mkdir -p "$scratch/up/below"
    echo one >"$scratch/up/one"
    echo two >"$scratch/up/below/two"
    "$rclone" "$@" copy "$scratch/up" password:docs/up
    "$rclone" "$@" check "$scratch/up" token:docs/up
    "$rclone" "$@" copy "$scratch/up" token:private/up
    "$rclone" "$@" check "$scratch/up" password:private/up
    "$rclone" "$@" check "$scratch/up" reader:docs/up
    fails "$rclone" "$@" copy "$scratch/up" reader:docs/other 2>"$scratch/err"
    # What is ann's is in no listing of bob's.
    "$rclone" "$@" lsf reader: >"$scratch/listed"
    grep -qx 'docs/' "$scratch/listed"
    fails grep -q private "$scratch/listed"
    fails "$rclone" "$@" lsf stranger: 2>"$scratch/err"
}

# It takes a name and a password from a file; its exit status says nothing.
case_cadaver() {
    command -v cadaver >"$scratch/found" || skip 'no cadaver'
    machine=${http#http://}
    for password in pencil wrong; do
        printf 'machine %s\nlogin ann\npassword %s\n' "${machine%:*}" $password >"$scratch/.netrc"
        chmod 600 "$scratch/.netrc"
        printf 'put %s private/by-cadaver-%s\nquit\n' "$scratch/file" $password | HOME=$scratch cadaver "$http/" >"$scratch/cadaver" 2>&1 || true
    done
    grep -qi 'authenti' "$scratch/cadaver"
    [ "$(status -u ann:pencil "$http/private/by-cadaver-pencil")" = 200 ]
    [ "$(status -u ann:pencil "$http/private/by-cadaver-wrong")" = 404 ]
}

case_davfs2() {
    lacks=$(lacks_davfs2)
    [ -z "$lacks" ] || { skip "$lacks"; return 0; }
    secrets="/mnt/dir ann pencil"
    can_mount || { skip 'davfs2 cannot mount here'; return 0; }
    mounted '
        echo dav >private/by-davfs2
        cat private/by-davfs2 >"$SCRATCH/read"'
    [ "$(curl -sSf -u ann:pencil "$http/private/by-davfs2")" = dav ]
    secrets="/mnt/dir ann $token"
    mounted '[ "$(cat private/by-davfs2)" = dav ]'
    secrets="/mnt/dir bob brush"
    mounted '[ -e docs ] && [ ! -e private ]'
    secrets="/mnt/dir bob wrong"
    fails mounted true 2>"$scratch/err"
}

case_limits_hold_by_http() {
    head -c 3000000 /dev/zero >"$scratch/zeros"
    [ "$(status -u ann:pencil -T "$scratch/zeros" "$http/docs/zeros")" = 201 ]
    users limit bob --operations 4 >/dev/null
    begun=$(date +%s)
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
        [ "$(status -u bob:brush "$http/docs/a")" = 200 ]
    done
    [ $(($(date +%s) - begun)) -ge 1 ]
    # A download goes at its user's pace, and whole.
    users limit bob --operations none --bytes 1M >/dev/null
    begun=$(date +%s)
    [ "$(status -u bob:brush "$http/docs/zeros")" = 200 ]
    cmp "$scratch/zeros" "$scratch/body"
    [ $(($(date +%s) - begun)) -ge 1 ]
    # Who has sent far too much is told when to come again.
    users limit ann --bytes 100k >/dev/null
    [ "$(status -u ann:pencil -T "$scratch/zeros" "$http/docs/zeros")" = 204 ]
    [ "$(status -D "$scratch/head" -u ann:pencil "$http/docs/a")" = 429 ]
    grep -qi '^retry-after: [0-9]' "$scratch/head"
    [ "$(status --oauth2-bearer "$token" "$http/docs/a")" = 429 ]
    users limit ann --bytes none >/dev/null
    users limit bob --bytes none >/dev/null
    [ "$(status -u ann:pencil "$http/docs/a")" = 200 ]
}

# Taken back while the server runs: the next request is refused.
case_what_was_taken_is_gone() {
    users token rm "$(printf %s "$token" | cut -c8-23)"
    [ "$(status --oauth2-bearer "$token" "$http/")" = 401 ]
    users revoke --role read@test bob
    [ "$(status -u bob:brush "$http/")" = 403 ]
    users rm bob
    [ "$(status -u bob:brush "$http/")" = 401 ]
    echo crayon | users passwd ann
    [ "$(status -u ann:pencil "$http/")" = 401 ]
    [ "$(status -u ann:crayon "$http/")" = 200 ]
}

case_nothing_secret_is_logged() {
    fails grep -q -e pencil -e brush -e crayon -e "$token" -e "$narrow" "$scratch/server.err"
    "$ASHLAR" -s "$scratch/store" check
}

# Of a store of its own, whose user ann has the password pencil and a token, $https_token: sets $http to its address.
serve_https() {
    command -v openssl >/dev/null || skip 'no openssl'
    rm -rf "$pki" "$scratch/https"
    make_tls_files
    echo pencil | "$ASHLAR" -s "$scratch/https" user add ann --role readWrite@test
    https_token=$("$ASHLAR" -s "$scratch/https" user token add ann)
    serve_tls "$scratch/https" --auth
    http=https://$http
}

case_rclone_by_https() {
    rclone=${RCLONE:-rclone}
    command -v "$rclone" >"$scratch/found" || skip 'no rclone'
    serve_https
    export HOME="$scratch"
    printf '[ann]\ntype = webdav\nurl = %s\nvendor = other\nuser = ann\npass = %s\n' "$http" "$("$rclone" obscure pencil)" >"$scratch/https.conf"
    printf '[token]\ntype = webdav\nurl = %s\nvendor = other\nbearer_token = %s\n' "$http" "$https_token" >>"$scratch/https.conf"
    set -- --config "$scratch/https.conf" --retries 1 --low-level-retries 1
    mkdir -p "$scratch/private/below"
    echo one >"$scratch/private/below/one"
    head -c 3000000 /dev/urandom >"$scratch/private/large"
    "$rclone" "$@" --ca-cert "$pki/ca.pem" copy "$scratch/private" ann:up
    "$rclone" "$@" --ca-cert "$pki/ca.pem" check --download "$scratch/private" ann:up
    "$rclone" "$@" --ca-cert "$pki/ca.pem" lsf token:up >"$scratch/listed"
    grep -qx large "$scratch/listed"
    fails "$rclone" "$@" --ca-cert "$pki/stranger.pem" lsf ann: 2>"$scratch/err"
    grep -q certificate "$scratch/err"
    fails "$rclone" "$@" --ca-cert "$pki/ca.pem" --webdav-pass "$("$rclone" obscure wrong)" lsf ann: 2>"$scratch/err"
    grep -q 401 "$scratch/err"
    fails "$rclone" "$@" --ca-cert "$pki/ca.pem" --webdav-bearer-token "${https_token}x" lsf token: 2>"$scratch/err"
    grep -q 401 "$scratch/err"
    stop_server
}

case_curl_by_https() {
    serve_https
    echo text >"$scratch/file"
    set -- --cacert "$pki/ca.pem"
    [ "$(status "$@" -u ann:pencil -T "$scratch/file" "$http/a")" = 201 ]
    [ "$(status "$@" --oauth2-bearer "$https_token" "$http/a")" = 200 ]
    cmp "$scratch/file" "$scratch/body"
    [ "$(status "$@" -u ann:wrong "$http/a")" = 401 ]
    [ "$(status "$@" --oauth2-bearer "${https_token}x" "$http/a")" = 401 ]
    [ "$(status "$@" "$http/a")" = 401 ]
    # Nothing of a name or password goes to a server that is not trusted.
    expect_status 60 curl -sS --cacert "$pki/stranger.pem" -u ann:pencil "$http/a"
    stop_server
    fails grep -q "pencil\|$https_token" "$scratch/server.err"
}

case_davfs2_by_https() {
    lacks=$(lacks_davfs2)
    [ -z "$lacks" ] || skip "$lacks"
    serve_https
    secrets="/mnt/dir ann pencil"
    trusted=$pki/ca.pem
    can_mount || skip 'davfs2 cannot mount here'
    mounted '
        echo dav >by-davfs2
        cat by-davfs2 >"$SCRATCH/read"'
    [ "$(curl -sSf --cacert "$pki/ca.pem" -u ann:pencil "$http/by-davfs2")" = dav ]
    trusted=$pki/stranger.pem
    fails mounted true 2>"$scratch/err"
    trusted=
    fails mounted true 2>"$scratch/err"
    trusted=$pki/ca.pem
    secrets="/mnt/dir ann $https_token"
    mounted '[ "$(cat by-davfs2)" = dav ]'
    secrets="/mnt/dir ann wrong"
    fails mounted true 2>"$scratch/err"
    grep -qi 'could not authenticate' "$scratch/err"
    stop_server
}

run_cases "$@"
