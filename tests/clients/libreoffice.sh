#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# LibreOffice's Writer, unmodified and without a window, with documents that stay on the share.
# usage: ASHLAR=… libreoffice.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/web.sh"
. "$here/mounted.sh"
command -v soffice >/dev/null || skip_all 'no LibreOffice'
# The module is Debian's, and another python3 may come first.
python=
for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import uno' 2>/dev/null && python=$candidate && break
done
[ -n "$python" ] || skip_all 'no python3-uno'
start_web || exit 1
dav=vnd.sun.star.webdav://${http#http://}
pipe=ashlar-$$
mkdir -p "$scratch/home"
HOME="$scratch/home" SAL_USE_VCLPLUGIN=svp soffice --headless --norestore --nologo --nodefault --nofirststartwizard \
    "-env:UserInstallation=file://$scratch/profile" "--accept=pipe,name=$pipe;urp" >"$scratch/office.log" 2>&1 &
echo $! >>"$scratch/pids"

office() { # COMMAND URL ARGUMENT…
    timeout 120 "$python" "$here/libreoffice.py" "$pipe" "$@"
}
office wait || skip_all 'LibreOffice does not start here'
# What was started is a program that starts another one.
pgrep -f "UserInstallation=file://$scratch/profile" >>"$scratch/pids"

locks_of() { # URL
    curl -sSf -X PROPFIND -H 'Depth: 0' --data '<propfind xmlns="DAV:"><prop><lockdiscovery/></prop></propfind>' "$1"
}

# A new document, opened again, changed and saved again: each a version, and no lock is left.
case_save() {
    office new "$dav/letter.odt" 'Dear reader,'
    [ "$(curl -sS -o "$scratch/letter.odt" -w '%{http_code} %{content_type}' "$http/letter.odt")" = \
        '200 application/vnd.oasis.opendocument.text' ]
    office add "$dav/letter.odt" 'it is kept.'
    office text "$dav/letter.odt" >"$scratch/text"
    grep -q 'Dear reader,' "$scratch/text"
    grep -q 'it is kept.' "$scratch/text"
    "$ASHLAR" -s "$scratch/store" tree log letter.odt >"$scratch/log"
    [ "$(grep -c . "$scratch/log")" -ge 2 ]
    locks_of "$http/letter.odt" >"$scratch/locks"
    fails grep -qi activelock "$scratch/locks"
    expect_sound
}

# While it is open nobody else writes it, and who opens it too may only read.
case_lock() {
    office new "$dav/shared.odt" 'first'
    office add "$dav/shared.odt" 'second' "
        set -e
        curl -sS -o '$scratch/answer' -w '%{http_code}' -T '$0' '$http/shared.odt' >'$scratch/put'
        curl -sS -X PROPFIND -H 'Depth: 0' '$http/shared.odt' >'$scratch/open'"
    [ "$(cat "$scratch/put")" = 423 ]
    grep -qi activelock "$scratch/open"
    office text "$dav/shared.odt" >"$scratch/text"
    grep -q second "$scratch/text"
    [ "$(curl -sS -o "$scratch/answer" -w '%{http_code}' -X DELETE "$http/shared.odt")" = 204 ]
}

# Somebody's lock stands in the way of saving, and is not saved over.
case_others_lock() {
    office new "$dav/held.odt" 'mine'
    curl -sSf -D "$scratch/head" -o /dev/null -X LOCK -H 'Timeout: Second-300' --data \
        '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>somebody</owner></lockinfo>' \
        "$http/held.odt"
    fails office add "$dav/held.odt" 'not mine' 2>"$scratch/refused"
    curl -sSf -X UNLOCK -H "$(grep -i '^Lock-Token:' "$scratch/head" | tr -d '\r')" "$http/held.odt"
    office text "$dav/held.odt" >"$scratch/text"
    grep -q mine "$scratch/text"
    fails grep -q 'not mine' "$scratch/text"
}

# On a share that davfs2 has mounted, an office knows nothing of WebDAV; davfs2 locks for it.
case_mounted() {
    lacks=$(lacks_davfs2)
    [ -z "$lacks" ] || skip "$lacks"
    can_mount || skip 'davfs2 cannot mount here'
    export python here scratch
    mounted '
        mkdir -p /mnt/home
        HOME=/mnt/home SAL_USE_VCLPLUGIN=svp soffice --headless --norestore --nologo --nodefault --nofirststartwizard \
            -env:UserInstallation=file:///mnt/profile "--accept=pipe,name=ashlar-mounted;urp" >"$scratch/mounted.log" 2>&1 &
        ask() { timeout 100 "$python" "$here/libreoffice.py" ashlar-mounted "$@"; }
        ask new "file://$dir/on a disk.odt" "saved on a mounted share"
        ask add "file://$dir/on a disk.odt" "and once more"
        ask end
        wait'
    office text "$dav/on%20a%20disk.odt" >"$scratch/text"
    grep -q 'saved on a mounted share' "$scratch/text"
    grep -q 'and once more' "$scratch/text"
    # Nothing of what an office or davfs2 makes in between stays.
    "$ASHLAR" -s "$scratch/store" tree ls / >"$scratch/list"
    fails grep -q '~lock' "$scratch/list"
    expect_sound
}

run_cases
