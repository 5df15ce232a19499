#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Locks of Ashlar and of the npm package gridfs-locks, in turn, on one server.
# usage: ASHLAR=… locks.sh BUILD FOLDER RUNS SCALE      figures on standard output, what is unequal on standard error
self=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
runs=$3
scale=$4
TMPDIR=$2
export TMPDIR
mkdir -p "$TMPDIR"
tests_folder=$self/../tests
here=$tests_folder/clients/locks_packages
ASH_NODE_FOLDER=$build/node-locks
. "$tests_folder/lib.sh"

start_server "$scratch/served" || exit 1
uri=mongodb://$server_address/bench
with_npm=no
if command -v node >/dev/null && command -v npm >/dev/null; then
    . "$tests_folder/clients/node.sh"
    cp "$self/locks_npm.js" "$node_folder/"
    with_npm=yes
else
    echo "# locks: node or npm is not installed, so gridfs-locks is not measured" >&2
fi
run=0
while [ $run -lt "$runs" ]; do
    run=$((run + 1))
    "$build/bench/ashlar-bench-locks" "$uri" ashlar "$scale" || exit 1
    [ $with_npm = no ] || node "$node_folder/locks_npm.js" "$uri" gridfs-locks "$scale" || exit 1
    [ $with_npm = no ] || node "$node_folder/locks_npm.js" "$uri" "polling 0.5 s" "$scale" 0.5 || exit 1
    rm -rf "$scratch/folder"
    "$build/bench/ashlar-bench-locks" "$scratch/folder" "in process" "$scale" || exit 1
done
cat >&2 <<'END'
# locks: gridfs-locks polls every 5 s (its default) or every 0.5 s, Ashlar is woken; each has eight connections or threads
# locks: each grant is on disk before it is acknowledged, the package's as Ashlar's; nobody asks for fencing tokens, which the package does not have
# locks: "in process" has no server between; the others share the processors with theirs
END
