#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Releases of a package put one after the other: what they take, and how long one takes, beside what is installed of
# git, borg, restic and casync.
#
# usage: bench/trees.sh [FOLDER...]        environment: ASHLAR (build/ashlar), PLACE (a fresh folder)
#
# Each FOLDER has a folder for each release, put in order of their names.  Without one, releases of typescript and of
# @esbuild/linux-x64 are fetched by npm.
set -eu

ashlar=${ASHLAR:-$(dirname "$0")/../build/ashlar}
own_place=
if [ -z "${PLACE:-}" ]; then
    PLACE=$(mktemp -d)
    own_place=$PLACE
fi
place=$PLACE
trap 'if [ -n "$own_place" ]; then rm -rf "$own_place"; fi' EXIT
export BORG_BASE_DIR="$place/borg-base" BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes
export RESTIC_PASSWORD=bench RESTIC_CACHE_DIR="$place/restic-cache"

fetch() { # PACKAGE FOLDER VERSION…
    package=$1 folder=$2
    shift 2
    number=10
    for version; do
        number=$((number + 1))
        mkdir -p "$folder/$number"
        (cd "$folder" && npm pack --silent "$package@$version" >/dev/null && tar -xzf ./*.tgz -C "$number" && rm ./*.tgz)
    done
}

one() { # PEER RELEASE REPOSITORY
    case $1 in
    ashlar) "$ashlar" -q -s "$3" tree put -r --delete "$2" /series ;;
    git)
        git --git-dir="$3" --work-tree="$2" add -A .
        git --git-dir="$3" -c user.name=bench -c user.email=bench@localhost commit -q -m "$2"
        ;;
    borg) borg create -C zstd,3 --files-cache=disabled "$3::$(basename "$2")" "$2" ;;
    restic) restic -q -r "$3" backup --force "$2" ;;
    casync) casync make --store="$3" "$3/$(basename "$2").caidx" "$2" >/dev/null ;;
    esac
}

start() { # PEER REPOSITORY
    case $1 in
    ashlar) "$ashlar" -q -s "$2" init ;;
    git)
        git init -q --bare "$2"
        git --git-dir="$2" config core.bare false
        ;;
    borg) borg init -e none "$2" ;;
    restic) restic -q -r "$2" init ;;
    casync) mkdir -p "$2" ;;
    esac
}

now() {
    date +%s.%N
}

bytes() {
    du -s --block-size=1 "$1" | cut -f 1
}

# Peers take turns release by release, so that whatever else the machine does hits all of them.
series() { # FOLDER
    folder=$(cd "$1" && pwd)
    repositories=$place/repositories
    rm -rf "$repositories"
    mkdir -p "$repositories"
    peers=ashlar
    for peer in git borg restic casync; do
        if command -v $peer >/dev/null; then
            peers="$peers $peer"
        fi
    done
    for peer in $peers; do
        start "$peer" "$repositories/$peer"
        : >"$repositories/$peer.times"
    done
    for release in "$folder"/*/; do
        for peer in $peers; do
            began=$(now)
            one "$peer" "${release%/}" "$repositories/$peer"
            echo "$(now) $began" | awk '{ print $1 - $2 }' >>"$repositories/$peer.times"
        done
    done
    git --git-dir="$repositories/git" gc -q 2>/dev/null || true
    whole=$(bytes "$folder")
    printf '%s: %s bytes\n%-8s %14s %8s %10s\n' "$folder" "$whole" "" stored ratio "median s"
    for peer in $peers; do
        stored=$(bytes "$repositories/$peer")
        median=$(sort -n "$repositories/$peer.times" | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }')
        echo "$peer $stored $whole $median" | awk '{ printf "%-8s %14d %8.1f %10.2f\n", $1, $2, $3 / $2, $4 }'
    done
}

if [ $# = 0 ]; then
    fetch typescript "$place/typescript" 5.0.2 5.0.4 5.1.3 5.1.6 5.2.2 5.3.2 5.3.3 5.4.2 5.4.5 5.5.2 5.5.4 5.6.2 5.6.3 5.7.2
    fetch @esbuild/linux-x64 "$place/esbuild" 0.25.1 0.25.2 0.25.3 0.25.4 0.25.5 0.25.6 0.25.8 0.25.9 0.25.10
    set -- "$place/typescript" "$place/esbuild"
fi
for folder; do
    series "$folder"
done
