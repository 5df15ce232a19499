#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tus-js-client and tuspy, unmodified, upload into a tree.
# usage: ASHLAR=… tus.sh   (npm packages go to $ASH_NODE_FOLDER, tuspy to $ASH_TUSPY_FOLDER, default: scratch folders)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/web.sh"
. "$here/driver.sh"
command -v node >/dev/null && command -v npm >/dev/null || skip_all 'no node'
command -v curl >/dev/null || skip_all 'no curl'
$python -c 'import ensurepip' 2>/dev/null || skip_all 'venv is not installed (Debian: python3-venv)'
folder=${ASH_TUSPY_FOLDER:-$scratch/tuspy}
fetch "$folder" "$0" -- sh -ec '"$1" -m venv --clear venv; venv/bin/pip install -q tuspy==1.1.0' sh $python
. "$here/node.sh"
start_web || exit 1
head -c 5000000 /dev/urandom >"$scratch/large"

js() { # METADATA HOW
    run_node "$here/tus.js" "$http" "$scratch/large" "$@"
}

case_by_node() {
    for how in whole pieces with-creation resumed; do
        js "{\"path\": \"/js $how.bin\", \"filetype\": \"application/x-thing\"}" $how
        curl -sSf -D "$scratch/head" "$http/js%20$how.bin" | cmp - "$scratch/large"
        grep -qi '^Content-Type: application/x-thing' "$scratch/head"
    done
}

# As most pages set it up, which know of no path.
case_by_a_name_alone() {
    js '{"filename": "ümläut.bin", "filetype": ""}' whole
    curl -sSf "$http/%C3%BCml%C3%A4ut.bin" | cmp - "$scratch/large"
}

case_what_is_not_served_is_said() {
    fails js '{"path": "/parallel.bin"}' parallel 2>"$scratch/words"
    grep -q 'Upload-Concat' "$scratch/words"
}

case_by_python() {
    "$folder/venv/bin/python" - "$http" "$scratch/large" <<'PY'
import sys
from tusclient import client
server = client.TusClient(sys.argv[1] + "/.ashlar/uploads/")
for path, how in (("/py", {}), ("/py pieces", {"chunk_size": 1 << 20}), ("/py sums", {"chunk_size": 1 << 20, "upload_checksum": True})):
    server.uploader(sys.argv[2], metadata={"path": path}, **how).upload()
first = server.uploader(sys.argv[2], metadata={"path": "/py resumed"}, chunk_size=1 << 20)
first.upload_chunk()
server.uploader(sys.argv[2], url=first.url, chunk_size=1 << 20).upload()
PY
    for name in py py%20pieces py%20sums py%20resumed; do
        curl -sSf "$http/$name" | cmp - "$scratch/large"
    done
}

# The lines of docs/HTTP.md.
case_as_the_page_says() {
    page=$here/../../docs/HTTP.md
    cp "$scratch/large" "$node_folder/a.txt"
    for line in '^\$ node -e ' '^\$ python3 -c .*tusclient'; do
        sed -n "/$line/s/^\$ //p" "$page" | sed "s|http://localhost:8080|$http|; s|python3|\"$folder/venv/bin/python\"|" >"$scratch/line"
        [ -s "$scratch/line" ]
        (cd "$node_folder" && sh -e "$scratch/line")
        curl -sSf "$http/a.txt" | cmp - "$scratch/large"
        curl -sSf -X DELETE "$http/a.txt"
    done
}

case_sound_afterwards() {
    expect_sound
}

run_cases
