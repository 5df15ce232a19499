#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page in headless Chromium: every function of it, names that mean no good, screen readers (axe-core finds nothing).
# usage: ASHLAR=… page.sh [CASE…]   (npm packages go to $ASH_NODE_FOLDER, default: a scratch folder; PICTURES=FOLDER keeps screenshots)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || skip_all 'no chromium'
. "$here/node.sh"
start_server "$scratch/store" --http 127.0.0.1:0 || exit 1
tries=0
while ! grep -q '^http://' "$scratch/server.out"; do
    tries=$((tries + 1))
    [ $tries -lt 200 ] || exit 1
    sleep 0.05
done
run_node "$here/page.js" "$(grep '^http://' "$scratch/server.out")" "$@"
