#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page in headless Chromium: every function of it, names that mean no good, screen readers (axe-core finds nothing).
# usage: ASHLAR=… page.sh [CASE…]   (npm packages go to $ASH_NODE_FOLDER, default: a scratch folder; PICTURES=FOLDER keeps screenshots)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || skip_all 'no chromium'
. "$here/node.sh"
. "$here/web.sh"
start_web || exit 1
run_node "$here/page.js" "$http/" "$@"
