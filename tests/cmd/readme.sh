#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the README shows works as shown: the tour, the installation and the C program.
# usage: ASHLAR=… readme.sh SOURCE_ROOT BUILD_ROOT
. "$(dirname "$0")/../lib.sh"
source=$1
build=$2

case_tour() {
    mkdir "$scratch/tour"
    cp -r "$source/README.md" "$source/docs" "$source/src" "$scratch/tour/"
    cd "$scratch/tour"
    # Our folder for the store, our port for the server, and time for it to start.
    block "$source/README.md" sh 2 | sed "s|PATH=\"\$PWD/build:\$PATH\" ASHLAR_STORE=/tmp/first-store|ASHLAR_STORE=$scratch/tour-store|
        s|^python3|/usr/bin/python3|
        s|^ashlar serve &.*|ashlar serve --mongo 127.0.0.1:27899 >served \& sleep 2|
        s|/tmp/copy.tar|copy.tar|; s|/tmp/restored|restored|
        s|127.0.0.1:27017|127.0.0.1:27899|" >tour.sh
    PATH=$(dirname "$ASHLAR"):$PATH bash -e tour.sh >out
    grep -q "b'# Ashlar" out
    tar tf copy.tar >/dev/null
    diff -r docs restored/docs
}

case_install_and_c_program() {
    DESTDIR=$scratch/root meson install -C "$build" --no-rebuild --quiet
    prefix=$(find "$scratch/root" -name ashlar.pc | head -n 1)
    block "$source/README.md" c 1 >"$scratch/keep.c"
    # The scratch folder stands before the prefix that was configured.
    mkdir "$scratch/pc"
    sed "s|^prefix=|prefix=$scratch/root|" "$prefix" >"$scratch/pc/ashlar.pc"
    flags=$(PKG_CONFIG_PATH=$scratch/pc pkg-config --cflags --libs ashlar)
    cc -Wall -Werror -o "$scratch/keep" "$scratch/keep.c" $flags
    library=$(dirname "$(find "$scratch/root" -name 'libashlar.so' | head -n 1)")
    (cd "$scratch" && LD_LIBRARY_PATH=$library ./keep)
    [ "$("$ASHLAR" -s "$scratch/files" cat hello.txt)" = hello ]
    # The same with the archive.
    flags=$(PKG_CONFIG_PATH=$scratch/pc pkg-config --static --cflags --libs ashlar | sed 's|-lashlar|-l:libashlar.a|')
    cc -o "$scratch/kept" "$scratch/keep.c" $flags
    (cd "$scratch" && ./kept)
    find "$scratch/root" -name ashlar.1 | grep -q .
    find "$scratch/root" -path '*/bin/ashlar' | grep -q .
    for file in bash-completion/completions/ashlar.bash zsh/site-functions/_ashlar fish/vendor_completions.d/ashlar.fish; do
        find "$scratch/root" -path "*/share/$file" | grep -q .
    done
    # Nothing but the public names leaves the library.
    ! nm -D --defined-only "$library/libashlar.so" | grep -v ' [AVW] ' | awk '{print $3}' | grep -qvE '^ash_[^_]'
}

run_cases
