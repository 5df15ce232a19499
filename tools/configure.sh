#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Set a build folder up, or change what differs in one that is there.
# usage: tools/configure.sh BUILD NAME=VALUE…     (Meson's options)
set -eu
build=$1
shift
if [ ! -f "$build/build.ninja" ]; then
    for option; do
        set -- "$@" "-D$option"
        shift
    done
    exec meson setup "$build" "$@"
fi
now=$(meson introspect "$build" --buildoptions)
for option; do
    shift
    case "$now" in
    *"\"name\": \"${option%%=*}\", \"value\": \"${option#*=}\""*) ;;
    *) set -- "$@" "-D$option" ;;
    esac
done
[ $# = 0 ] || meson configure "$build" "$@"
