#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Objects by Ashlar, nats.go and nats.js, in turn, on one NATS server; and by Ashlar in a folder.
# usage: ASHLAR=… objects.sh BUILD FOLDER RUNS MIB SMALL [NATS_SERVER]     figures on standard output
self=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
runs=$3 mib=$4 small=$5
TMPDIR=$2
ASH_NATS_SERVER=${6:-}
ASH_GO_FOLDER=${ASH_GO_FOLDER:-$build/go}
ASH_NODE_FOLDER=$build/node-nats
export TMPDIR ASH_NATS_SERVER
mkdir -p "$TMPDIR"
tests_folder=$self/../tests
here=$tests_folder/clients
. "$tests_folder/lib.sh"
. "$here/driver.sh"
. "$here/go.sh"

new_go
fetch "$go_folder/nats" "$here/nats/go.mod" "$here/nats/go.sum" -- sh -ec 'cp "$1/go.mod" "$1/go.sum" . && "$2" mod download' sh "$here/nats" "$go"
mkdir -p "$go_folder/made"
(cd "$here/nats" && "$go" build -p 2 -o "$go_folder/made/" ./bench) || exit 1
with_npm=no
if command -v node >/dev/null && command -v npm >/dev/null; then
    here=$tests_folder/clients/nats
    . "$tests_folder/clients/node.sh"
    cp "$self/objects_nats.js" "$node_folder/"
    with_npm=yes
fi

mkfifo "$scratch/stop"
"$build/tests/object/jetstream/nats-servers" 1 <"$scratch/stop" >"$scratch/address" &
servers=$!
exec 8>"$scratch/stop"
while ! grep -qs . "$scratch/address"; do
    kill -0 $servers || exit 1
    sleep 0.1
done
uri=$(cat "$scratch/address")
peer() {
    case $1 in
    0) "$build/bench/ashlar-bench-objects" "$uri" ashlar "$mib" "$small" ;;
    1) "$go_folder/made/bench" "$uri" nats.go "$mib" "$small" ;;
    2) [ $with_npm = no ] || node "$node_folder/objects_nats.js" "$uri" nats.js "$mib" "$small" ;;
    3)
        rm -rf "$scratch/folder"
        "$build/bench/ashlar-bench-objects" "$scratch/folder" "in a folder" "$mib" "$small"
        ;;
    esac
}
# Each run begins with another: the disk still writes what the one before has left.
run=${FIRST:-0}
runs=$((run + runs))
while [ $run -lt $runs ]; do
    for turn in 0 1 2 3; do
        peer $(((run + turn) % 4)) || exit 1
    done
    run=$((run + 1))
done
exec 8>&-
wait $servers
cat >&2 <<'END'
# objects: nats-server acknowledges what it has not synced yet, a folder has each object on the disk first
# objects: nats-server shares the processors with its clients; a folder has no server
# objects: the 16 writers are threads, goroutines or promises, and share a connection
END
