#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every public header compiles alone, as C11 and as C++17.  usage: headers.sh SOURCE_ROOT
root=$1
flags=$(pkg-config --cflags libbson-1.0)
number=0
status=0
try() {
    number=$((number + 1))
    if echo "#include <ashlar/$1>" | shift_compile "$2"; then
        echo "ok $number $1 as $2"
    else
        echo "not ok $number $1 as $2"
        status=1
    fi
}
shift_compile() {
    case "$1" in
    C11) ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$root/include" $flags -x c - ;;
    *) ${CXX:-c++} -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I"$root/include" $flags -x c++ - ;;
    esac
}
for path in "$root"/include/ashlar/*.h; do
    try "$(basename "$path")" C11
    if command -v "${CXX:-c++}" >/dev/null 2>&1; then
        try "$(basename "$path")" C++17
    else
        number=$((number + 1))
        echo "ok $number $(basename "$path") as C++17 # SKIP no C++ compiler"
    fi
done
echo "1..$number"
exit $status
