#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Start a server and say how to use it.  usage: run.sh ASHLAR ADDRESS HTTP [STORE]
set -eu
ashlar=$1
address=$2
http=$3
store=${4:-${ASHLAR_STORE:-${XDG_DATA_HOME:-$HOME/.local/share}/ashlar}}
mkdir -p "$(dirname "$store")"
cat <<TEXT
Store:   $store
Server:  mongodb://$address/test   (stop it with Ctrl-C)
Files:   http://$http/   (open it in a browser, or connect a file manager)

In another terminal:
  $ashlar -s '$store' put README.md          keep a file
  $ashlar -s '$store' ls -l                  see it
  $ashlar -s '$store' get README.md copy.md  have it back
or any MongoDB driver's GridFS at mongodb://$address/

TEXT
exec "$ashlar" -s "$store" serve --mongo "$address" --http "$http"
