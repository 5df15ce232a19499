# SPDX-License-Identifier: Apache-2.0
# block FILE LANGUAGE N: the N-th block of a language in a page of the documentation.
block() {
    awk -v language="$2" -v wanted="$3" '
        $0 == "```" language { seen++; inside = (seen == wanted); next }
        /^```/ { inside = 0 }
        inside { print }' "$1"
}
