#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cadaver, unmodified: its commands one after the other, and what each says.
# usage: ASHLAR=… cadaver.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/web.sh"
command -v cadaver >/dev/null || skip_all 'no cadaver'
start_web || exit 1
export HOME="$scratch"

# Commands from standard input; its exit status says nothing, so "failed" and "error" in what it says do.
try_cadaver() {
    cadaver "$http/" >"$scratch/cadaver" 2>&1
    fails grep -iE 'failed|error|not supported' "$scratch/cadaver"
}

case_files_and_folders() {
    cd "$scratch"
    echo one >one
    try_cadaver <<END
mkcol "a folder"
mkcol b
put one b/one
copy b/one b/two
move b/two b/ümläut
copy b c
ls b
quit
END
    grep -q 'ümläut' "$scratch/cadaver"
    [ "$(curl -sSf "$http/c/%C3%BCml%C3%A4ut")" = one ]
    try_cadaver <<END
get b/one got
delete b/one
rmcol c
quit
END
    cmp one got
    [ "$(curl -s -o gone -w '%{http_code}' "$http/c/")" = 404 ]
}

case_properties() {
    cd "$scratch"
    echo two >two
    try_cadaver <<END
put two two
set namespace http://example.org/ns
propset two colour green
propget two colour
propnames two
propdel two colour
quit
END
    grep -q 'Value of colour is: green' "$scratch/cadaver"
    grep -q 'colour' "$scratch/cadaver"
}

case_locks() {
    cd "$scratch"
    echo three >three
    try_cadaver <<END
put three three
lock three
discover three
put three three
unlock three
quit
END
    grep -q 'urn:uuid:' "$scratch/cadaver"
    # Nothing is left of it.
    curl -sSf -T three "$http/three"
}

# Somebody else's lock is in the way, and cadaver says so.
case_locks_of_others() {
    cd "$scratch"
    echo four >four
    curl -sSf -T four "$http/four"
    curl -sSf -X LOCK -D head -o /dev/null --data '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>' \
        "$http/four"
    printf 'delete four\nquit\n' | cadaver "$http/" >"$scratch/cadaver" 2>&1
    grep -qi 'locked' "$scratch/cadaver"
    [ "$(curl -sSf "$http/four")" = four ]
}

# Newest last, each at an address where it can be fetched.
case_history() {
    for text in first second third; do echo $text | curl -sSf -T - "$http/ver%20sions"; done
    try_cadaver <<END
history "ver sions"
quit
END
    grep -q '3 versions in history' "$scratch/cadaver"
    grep -q '/.ashlar/versions/ver%20sions/v2-ver%20sions .*<2>' "$scratch/cadaver"
    [ "$(curl -sSf "$http/.ashlar/versions/ver%20sions/v2-ver%20sions")" = second ]
}

case_the_store_is_whole() {
    expect_sound
}

run_cases
