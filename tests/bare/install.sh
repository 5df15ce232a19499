#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh as one test: what the README says of building, installing and compiling holds in a fresh Debian root.
# usage: install.sh   (needs root, debootstrap and the network; else a skip)
echo 1..1
status=0
said=$(sh "$(dirname "$0")/run.sh" install) || status=$?
echo "$said" | sed 's/^/# /'
case $status in
0) echo "ok 1 make build, make install and the C lines on a bare machine" ;;
77) echo "ok 1 make build, make install and the C lines on a bare machine # SKIP no bare root can be made here: see standard error" ;;
*)
    echo "not ok 1 make build, make install and the C lines on a bare machine"
    exit 1
    ;;
esac
