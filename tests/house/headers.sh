#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every public header compiles alone, as C11 and as C++, and so do its initialisers.  usage: headers.sh SOURCE_ROOT
root=$1
flags=$(pkg-config --cflags libbson-1.0)
number=0
status=0
try() { # HEADER LANGUAGE
    number=$((number + 1))
    if use "$1" | shift_compile "$2"; then
        echo "ok $number $1 as $2"
    else
        echo "not ok $number $1 as $2"
        status=1
    fi
}
# A file that includes the header and uses each of its initialisers.
use() {
    echo "#include <ashlar/$1>"
    sed -n 's/^#define \(ASH_\([A-Z_]*\)_INIT\)\([^(A-Z_].*\)\{0,1\}$/\1 \2/p' "$root/include/ashlar/$1" |
        while read -r macro name; do
            type=ash_$(echo "$name" | tr A-Z a-z)
            echo "int use_$type(void); int use_$type(void) { $type o = $macro; return ((const char *)&o)[0]; }"
        done
}
shift_compile() {
    case "$1" in
    C11) ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$root/include" $flags -x c - ;;
    *) ${CXX:-c++} -std="$(echo "$1" | tr C c)" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$root/include" $flags -x c++ - ;;
    esac
}
for path in "$root"/include/ashlar/*.h; do
    header=$(basename "$path")
    try "$header" C11
    for language in C++11 C++17; do
        if command -v "${CXX:-c++}" >/dev/null 2>&1; then
            try "$header" $language
        else
            number=$((number + 1))
            echo "ok $number $header as $language # SKIP no C++ compiler"
        fi
    done
done
# The expression above finds them.
number=$((number + 1))
found=$(for path in "$root"/include/ashlar/*.h; do use "$(basename "$path")"; done | grep -c '^int use_')
defined=$(cat "$root"/include/ashlar/*.h | grep -c '^#define ASH_[A-Z_]*_INIT\([^(]\|$\)')
if [ "$found" -ge 10 ] && [ "$found" = "$defined" ]; then
    echo "ok $number $found initialisers"
else
    echo "not ok $number $found initialisers of $defined"
    status=1
fi
echo "1..$number"
exit $status
