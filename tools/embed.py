#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write files as a C table, so that the program has them in itself.

usage: embed.py OUTPUT FILE...

The table is `const ash_asset ash__assets[]`, by base names, with the digest of each, and ends with an empty row.
"""
import hashlib
import os
import sys

TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".json": "application/json"}


def main():
    output, files = sys.argv[1], sys.argv[2:]
    rows = []
    with open(output, "w", encoding="ascii") as out:
        out.write('/* Written by tools/embed.py. */\n#include "http/site/assets.h"\n\n')
        for number, path in enumerate(sorted(files, key=os.path.basename)):
            with open(path, "rb") as source:
                data = source.read()
            out.write(f"static const unsigned char data{number}[] = {{\n")
            for start in range(0, len(data), 20):
                out.write("    " + ",".join(str(byte) for byte in data[start:start + 20]) + ",\n")
            out.write("    0};\n")
            name = os.path.basename(path)
            kind = TYPES[os.path.splitext(name)[1]]
            digest = hashlib.sha256(data).hexdigest()[:12]
            rows.append(f'    {{"{name}", "{kind}", "{digest}", data{number}, {len(data)}}},\n')
        out.write("\nconst ash_asset ash__assets[] = {\n" + "".join(rows) + "    {0}};\n")


main()
