#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Object stores on JetStream beside other people's clients, unmodified: nats.go, its command natscli, @nats-io/obj and nats-py, on
# Debian's nats-server, the newest one, and `ashlar serve --nats`, with us on the same side of that one, or behind it in the folder.
# Each reads what the other wrote: bytes, what is said of them, links, names, deletions.
# usage: ASHLAR=… NATS_SERVERS=… OBJECTS_PEER=… objects.sh   (modules and packages go to $ASH_GO_FOLDER, $ASH_NODE_FOLDER-nats and
# $ASH_NATS_PY_FOLDER, default: scratch folders)
tests=$(cd "$(dirname "$0")" && pwd)
here=$tests
[ -z "${ASH_NODE_FOLDER:-}" ] || ASH_NODE_FOLDER=$ASH_NODE_FOLDER-nats
. "$tests/../lib.sh"
. "$tests/driver.sh"
. "$tests/go.sh"
python_folder=${ASH_NATS_PY_FOLDER:-$scratch/nats-py}

# ---- what is fetched and built, once ----

new_go
made=$go_folder/made
fetch_modules nats
mkdir -p "$made"
(cd "$here/nats" && "$go" build -p 2 -o "$made/" ./client github.com/nats-io/nats-server/v2 github.com/nats-io/natscli/nats) || exit 1
has_node=no
if command -v node >/dev/null && command -v npm >/dev/null; then
    here=$tests/nats
    . "$tests/node.sh"
    here=$tests
    has_node=yes
fi
has_python=no
if $python -c 'import ensurepip' 2>/dev/null; then
    fetch "$python_folder" "$here/nats/requirements.txt" -- sh -ec '"$1" -m venv --clear venv; venv/bin/pip install -q -r "$2"' sh $python "$here/nats/requirements.txt"
    has_python=yes
fi

head -c 13 /dev/urandom >"$scratch/small"
head -c 700013 /dev/urandom >"$scratch/large"
: >"$scratch/empty"

# ---- servers ----

# behind: we are in the folder that ashlar serves; door: we come in as the others do.
start_nats() { # PROGRAM|door|behind: sets $uri, for others, and $our_uri
    case $1 in
    door | behind)
        [ "$1" = behind ] || need_libnats
        start_server "$scratch/served" --nats 127.0.0.1:0
        uri=$(sed -n 's|^\(nats://.*\)|\1|p' "$scratch/server.out")
        our_uri=$uri
        [ "$1" = door ] || our_uri=$scratch/served
        nats_pid=
        return
        ;;
    esac
    need_libnats
    command -v "$1" >/dev/null || skip "$1 is not installed (Debian: nats-server)"
    mkfifo "$scratch/stop"
    ASH_NATS_SERVER=$1 "$NATS_SERVERS" 1 <"$scratch/stop" >"$scratch/address" &
    nats_pid=$!
    echo "$nats_pid" >>"$scratch/pids"
    exec 8>"$scratch/stop"
    rm "$scratch/stop"
    tries=0
    while ! grep -qs . "$scratch/address"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] && kill -0 "$nats_pid"
        sleep 0.1
    done
    uri=$(cat "$scratch/address")
    our_uri=$uri
}

stop_nats() {
    if [ -z "$nats_pid" ]; then
        stop_server
        "$ASHLAR" -s "$scratch/served" check
        rm -r "$scratch/served"
        return
    fi
    exec 8>&-
    wait "$nats_pid"
}

# ---- clients: VERB STORE ARGUMENT… ----

ours() {
    "$OBJECTS_PEER" "$our_uri" "$@"
}

nats_go() {
    "$made/client" "$uri" "$@"
}

nats_js() {
    run_node "$tests/nats_js.js" "$uri" "$@"
}

nats_py() {
    "$python_folder/venv/bin/python" "$tests/nats_py.py" "$uri" "$@"
}

# ---- what each must see of the other ----

same_bytes() { # CLIENT STORE NAME FILE
    "$1" get "$2" "$3" >"$scratch/got"
    cmp "$scratch/got" "$scratch/$4"
}

same_info() { # CLIENT STORE NAME
    ours info "$2" "$3" >"$scratch/info.ours"
    "$1" info "$2" "$3" >"$scratch/info.theirs"
    # nats-py has no field for it.
    [ "$1" != nats_py ] || sed -i '/^metadata/d' "$scratch/info.ours"
    diff "$scratch/info.ours" "$scratch/info.theirs"
}

same_list() { # CLIENT STORE
    ours list "$2" >"$scratch/list.ours"
    "$1" list "$2" >"$scratch/list.theirs"
    diff "$scratch/list.ours" "$scratch/list.theirs"
}

each_reads_the_other() { # CLIENT STORE
    for file in small large empty; do
        ours put "$2" "ours $file" "$scratch/$file" "by us"
        "$1" put "$2" "theirs/$file" "$scratch/$file" "by <them> & \"others\""
        # An empty object has no bytes to get for some clients.
        [ $file = empty ] || same_bytes "$1" "$2" "ours $file" $file
        same_bytes ours "$2" "theirs/$file" $file
        same_info "$1" "$2" "ours $file"
        same_info "$1" "$2" "theirs/$file"
    done
    # Over one of the other's.
    ours put "$2" "theirs/small" "$scratch/large" "over it"
    "$1" put "$2" "ours small" "$scratch/large" "over it"
    same_bytes "$1" "$2" "theirs/small" large
    same_bytes ours "$2" "ours small" large
    same_list "$1" "$2"
}

each_follows_the_others_links() { # CLIENT STORE
    ours link "$2" "our link" "theirs/large"
    "$1" link "$2" "their link" "ours large"
    same_bytes "$1" "$2" "our link" large
    same_bytes ours "$2" "their link" large
    [ "$1" = nats_js ] || same_info "$1" "$2" "our link"
}

each_sees_the_others_changes() { # CLIENT STORE
    ours rename "$2" "theirs/large" "ours now"
    # nats-py's update_meta takes every name for one that is taken.
    [ "$1" != nats_py ] || ours rename "$2" "ours large" "theirs now"
    [ "$1" = nats_py ] || "$1" rename "$2" "ours large" "theirs now"
    same_bytes "$1" "$2" "ours now" large
    same_bytes ours "$2" "theirs now" large
    same_info "$1" "$2" "ours now"
    same_info "$1" "$2" "theirs now"
    ours delete "$2" "theirs/empty"
    "$1" delete "$2" "ours empty"
    same_list "$1" "$2"
    fails ours info "$2" "ours empty" 2>/dev/null
    fails "$1" info "$2" "theirs/empty" 2>/dev/null
}

each_watches_the_other() { # CLIENT STORE COUNT
    ours watch "$2" "$3" >"$scratch/watch.ours"
    "$1" watch "$2" "$3" >"$scratch/watch.theirs"
    grep -q '^deleted ours empty$' "$scratch/watch.ours"
    diff "$scratch/watch.ours" "$scratch/watch.theirs"
}

each_is_stopped_by_the_others_seal() { # CLIENT STORE
    "$1" seal "$2"
    fails ours put "$2" "late" "$scratch/small" "late" 2>"$scratch/said"
    grep -q EREADONLY "$scratch/said"
    ours create "$2-sealed"
    ours put "$2-sealed" "early" "$scratch/small" "early"
    ours seal "$2-sealed"
    same_bytes "$1" "$2-sealed" "early" small
    fails timeout 30 "$OBJECTS_PEER" "$our_uri" put "$2-sealed" "late" "$scratch/small" "late" 2>/dev/null
    fails "$1" put "$2-sealed" "late" "$scratch/small" "late" 2>/dev/null
}

get_along() { # SERVER CLIENT
    start_nats "$1"
    "$2" create "store"
    ours create "store" # with the same configuration it is the same
    each_reads_the_other "$2" "store"
    count=8
    if [ "$2" != nats_py ]; then # which has no links
        each_follows_the_others_links "$2" "store"
        count=10
    fi
    each_sees_the_others_changes "$2" "store"
    # Six objects, of which two have gone by another name.
    each_watches_the_other "$2" "store" $((count - 2))
    each_is_stopped_by_the_others_seal "$2" "store"
    stop_nats
}

natscli_gets_along() { # SERVER
    start_nats "$1"
    cli() { "$made/nats" --no-context -s "$uri" object "$@"; }
    cli add store >/dev/null
    ours put store "ours" "$scratch/large" "by us"
    cli get store ours -O "$scratch/got" --force --no-progress >/dev/null
    cmp "$scratch/got" "$scratch/large"
    cli put store "$scratch/small" --name theirs --description "by them" --force --no-progress >/dev/null
    same_bytes ours store theirs small
    ours info store theirs | grep -q '^description by them$'
    cli ls store | grep -q ours
    cli info store ours | grep -q "by us"
    cli del store ours --force >/dev/null
    [ "$(ours list store)" = theirs ]
    ours delete store theirs
    fails cli info store theirs >/dev/null 2>&1
    cli seal store --force >/dev/null
    fails ours put store late "$scratch/small" late 2>/dev/null
    stop_nats
}

need_libnats() {
    [ -n "${NATS_SERVERS:-}" ] || skip "built without libnats (Debian: libnats-dev)"
}

need_node() {
    [ $has_node = yes ] || skip "node or npm is not installed"
}

need_python() {
    [ $has_python = yes ] || skip "venv is not installed (Debian: python3-venv)"
}

case_debians_server_nats_go() {
    get_along nats-server nats_go
}

case_debians_server_natscli() {
    natscli_gets_along nats-server
}

case_debians_server_nats_js() {
    need_node
    get_along nats-server nats_js
}

case_debians_server_nats_py() {
    need_python
    get_along nats-server nats_py
}

case_newest_server_nats_go() {
    get_along "$made/nats-server" nats_go
}

case_newest_server_natscli() {
    natscli_gets_along "$made/nats-server"
}

case_newest_server_nats_js() {
    need_node
    get_along "$made/nats-server" nats_js
}

case_newest_server_nats_py() {
    need_python
    get_along "$made/nats-server" nats_py
}

case_door_nats_go() {
    get_along door nats_go
}

case_door_natscli() {
    natscli_gets_along door
}

case_door_nats_js() {
    need_node
    get_along door nats_js
}

case_door_nats_py() {
    need_python
    get_along door nats_py
}

case_behind_the_door_nats_go() {
    get_along behind nats_go
}

case_behind_the_door_natscli() {
    natscli_gets_along behind
}

case_behind_the_door_nats_js() {
    need_node
    get_along behind nats_js
}

case_behind_the_door_nats_py() {
    need_python
    get_along behind nats_py
}

run_cases
