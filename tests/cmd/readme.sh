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
    # Our folder for the store, our port for the server, and its word that it listens.
    block "$source/README.md" sh 2 | sed "s|PATH=\"\$PWD/build:\$PATH\" ASHLAR_STORE=/tmp/first-store|ASHLAR_STORE=$scratch/tour-store|
        s|^python3|/usr/bin/python3|
        s|^ashlar serve --http 8080 &.*|ashlar serve --http 127.0.0.1:27898 --mongo 127.0.0.1:27899 >served \& while ! grep -q ^mongodb: served; do [ \$((tries += 1)) -lt 1200 ]; sleep 0.1; done|
        s|/tmp/copy.tar|copy.tar|; s|/tmp/restored|restored|
        s|127.0.0.1:27017|127.0.0.1:27899|" >tour.sh
    PATH=$(dirname "$ASHLAR"):$PATH bash -e tour.sh >out
    grep -q "b'# Ashlar" out
    tar tf copy.tar >/dev/null
    diff -r docs restored/docs
}

# As typed, but below a folder of ours, which stands before the prefix: the .pc file, the loader and the shell are told so.
case_install_and_c_program() {
    root=$scratch/root
    option() {
        meson introspect "$build" --buildoptions |
            python3 -c 'import json, sys; print(next(o["value"] for o in json.load(sys.stdin) if o["name"] == sys.argv[1]))' "$1"
    }
    prefix=$(option prefix)
    library=$root$prefix/$(option libdir)
    sudo() { "$@"; }
    ldconfig() { [ -e "$library/libashlar.so" ]; }
    make() {
        [ "$*" = install ]
        DESTDIR=$root meson install -C "$build" --no-rebuild --quiet
        sed -i "s|^prefix=|prefix=$root|" "$library/pkgconfig/ashlar.pc"
    }
    block "$source/README.md" c 1 >"$scratch/keep.c"
    block "$source/README.md" sh 3 >"$scratch/lines"
    grep -q '^sudo make install && sudo ldconfig' "$scratch/lines"
    export PKG_CONFIG_PATH=$library/pkgconfig LD_LIBRARY_PATH=$library PATH=$root$prefix/bin:$PATH
    cd "$scratch"
    . "$scratch/lines" >"$scratch/said"
    [ "$(tail -n 1 "$scratch/said")" = hello ]
    # The same with the archive.
    flags=$(pkg-config --static --cflags --libs ashlar | sed 's|-lashlar|-l:libashlar.a|')
    cc -Wall -Werror -o kept keep.c $flags
    (unset LD_LIBRARY_PATH && ./kept)
    [ -x "$root$prefix/bin/ashlar" ]
    grep -q '^\.TH ASHLAR 1 20[0-9-]* "Ashlar ' "$(find "$root" -name ashlar.1)"
    for file in bash-completion/completions/ashlar.bash zsh/site-functions/_ashlar fish/vendor_completions.d/ashlar.fish; do
        find "$root" -path "*/share/$file" | grep -q .
    done
    # Nothing but the public names leaves the library.
    nm -D --defined-only "$library/libashlar.so" | grep -v ' [AVW] ' | awk '{print $3}' | fails grep -qvE '^ash_[^_]'
}

# Where Debian's pkg-config and ldconfig look by themselves, however Meson would choose.
case_libraries_go_to_lib() {
    grep -q "'libdir=lib'" "$source/meson.build"
    command make -s -n -C "$source" BUILD="$scratch/none" install | grep -q "'libdir=lib'"
}

run_cases
