# SPDX-License-Identifier: Apache-2.0
# For tests with mongosh, which node.sh has installed.  Needs lib.sh and $node_folder.
# A home of its own, in which the shell neither finds nor leaves anything, and which tells it not to call home.
mkdir -p "$scratch/home/.mongodb/mongosh"
echo 'enableTelemetry: false' >"$scratch/home/.mongodb/mongosh/config"

# run_mongosh URI ARGS…: its output is in $scratch/out.
run_mongosh() {
    HOME=$scratch/home NODE_NO_WARNINGS=1 "$node_folder/node_modules/.bin/mongosh" --quiet --norc "$@" >"$scratch/out" 2>&1 </dev/null
}
