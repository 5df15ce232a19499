#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What docs/HTTP.md and docs/WEBDAV.md tell people to type does what they say: each line with curl and with the command, in their order.
# usage: ASHLAR=… http_guide.sh HTTP.md WEBDAV.md
. "$(dirname "$0")/../lib.sh"
command -v curl >/dev/null || skip_all 'no curl'
http_page=$1
webdav_page=$2

# lines PAGE: what is typed with curl and for links, one a line; without what goes on for ever, is a server of its own, or asks for
# passwords (users_http.sh).
lines() {
    sed '/^## Users/,/^## /d' "$1" | sed -n 's/^\$ //p' | grep -E '^(printf .*\| )?(curl|ashlar share)' | grep -v '/events/'
}

# type_line LINE: with our address, links and ids in place of the page's; every failure counts.
type_line() {
    line=$(printf '%s\n' "$1" | sed "s|http://localhost:8080|$http|g; s|https://files.example.com/.ashlar/share/TOKEN|$http${link-}|g; s|uploads/TOKEN|uploads/${upload-}|g
        s|rm 6748a1f0c2d3e4f5a6b7c8d9|rm ${id-}|; s|curl |curl -sSf |")
    (cd "$scratch/here" && PATH=$(dirname "$ASHLAR"):$PATH ASHLAR_STORE=$store bash -e -o pipefail -c "$line") >"$scratch/said" || {
        echo "# $line" >&2
        return 1
    }
}

start_http() { # STORE
    store=$1
    start_server "$store" --http 127.0.0.1:0
    tries=0
    until grep -qs '^http://' "$scratch/server.out"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    http=$(sed -n 's|^\(http://[^/]*\)/.*|\1|p' "$scratch/server.out" | head -n 1)
}

# The files that the pages speak of.
make_files() {
    mkdir -p "$scratch/here"
    for name in a.txt report.pdf scan.tif roof.jpg photo.jpg a.jpg b.jpg; do
        printf 'this is %s\n' "$name" >"$scratch/here/$name"
    done
}

case_http() {
    make_files
    start_http "$scratch/http"
    for folder in docs photos drop; do
        curl -sSf -X MKCOL "$http/$folder"
    done
    curl -sSf -T "$scratch/here/a.txt" "$http/"
    curl -sSf -T "$scratch/here/a.txt" "$http/docs/"
    for version in one two three four; do
        printf %s $version | curl -sSf -T - "$http/report.odt"
    done
    link=$("$ASHLAR" -s "$store" -q share --upload /drop)
    lines "$http_page" >"$scratch/lines"
    [ "$(wc -l <"$scratch/lines")" -ge 14 ]
    while read -r line <&3; do
        type_line "$line"
        case $line in
        'ashlar share ls') id=$(cut -d' ' -f1 "$scratch/said" | tail -n 1) ;;
        *Upload-Length*) upload=$(sed -n 's|^Location: .*/\([0-9a-f]*\)\r$|\1|p' "$scratch/said") ;;
        esac
    done 3<"$scratch/lines"
    # What they were for.
    [ "$(curl -sSf "$http/a.txt")" = 'hello world' ]
    [ "$(curl -sSf "$http/b.txt")" = 'this is a.txt' ]
    [ "$(curl -sSf "$http/report.odt")" = three ]
    tar tzf "$scratch/here/docs.tar.gz" | grep -qx docs/a.txt
    [ "$("$ASHLAR" -s "$store" tree ls /drop | tr '\n' ' ')" = 'a.jpg b.jpg photo.jpg ' ]
    "$ASHLAR" -s "$store" -d test find '{"metadata.page": 1}' | grep -q scan.tif
    "$ASHLAR" -s "$store" object get pictures roof.jpg -O - | grep -q 'this is roof.jpg'
    stop_server
}

case_webdav() {
    make_files
    start_http "$scratch/webdav"
    lines "$webdav_page" >"$scratch/lines"
    [ "$(wc -l <"$scratch/lines")" -ge 5 ]
    while read -r line <&3; do
        type_line "$line"
    done 3<"$scratch/lines"
    [ "$(cat "$scratch/here/report.pdf")" = 'this is report.pdf' ]
    "$ASHLAR" -s "$store" tree undelete /2026
    [ "$(curl -sSf "$http/2026/report.pdf")" = 'this is report.pdf' ]
    stop_server
}

run_cases
