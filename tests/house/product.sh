#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make build` builds is what is installed, no test, and with a manual page for each public header.  usage: product.sh SOURCE BUILD
source=$1
build=$2
echo 1..3
wanted=$(meson introspect "$build" --installed |
    python3 -c 'import json, os, sys
build = os.path.realpath(sys.argv[1]) + "/"
print("\n".join(sorted(f[len(build):] for f in json.load(sys.stdin) if f.startswith(build))))' "$build" |
    grep -v '^meson-private/')
given=$(ninja -C "$build" -t query product | sed -n 's/^    | //p'
    ninja -C "$build" -t inputs product | sed "s|^$source/||")
missing=$(echo "$wanted" | while read -r file; do
    # A link to the library stands for it.
    echo "$given" | grep -qxF "$file" || [ -L "$build/$file" ] || echo "$file"
done)
if [ -n "$wanted" ] && [ -z "$missing" ]; then echo "ok 1 everything that is installed"; else
    echo "not ok 1 everything that is installed"
    echo "$missing" | sed 's/^/# not built: /'
fi
tests=$(echo "$given" | grep -E '(^|/)(tests|bench)/')
if [ -n "$given" ] && [ -z "$tests" ]; then echo "ok 2 no test"; else
    echo "not ok 2 no test"
    echo "$tests" | head -n 5 | sed 's/^/# /'
fi
pages=$(for header in "$source"/include/ashlar/*.h; do
    name=$(basename "$header" .h)
    [ "$name" = ashlar ] || echo "$wanted" | grep -qxF "tools/ashlar_$name.3" || echo "$name.h"
done)
if [ -z "$pages" ]; then echo "ok 3 a manual page for each header"; else
    echo "not ok 3 a manual page for each header"
    echo "$pages" | sed 's/^/# none: /'
fi
