#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inside, documents are built by bson/builder.h; libbson builds what goes to a caller or to libmongoc.

usage: builder.py SOURCE_ROOT
"""
import pathlib
import re
import sys

FOLDERS = ("query", "engine", "store/embedded", "wire")
CALL = re.compile(r"\b(?:bson_append_\w+|BSON_APPEND_\w+|BCON_\w+)\s*\(")


def bare(text):
    """The code without comments and texts, every line where it was."""
    token = r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"'
    return re.sub(token, lambda m: re.sub(r"[^\n]", "", m[0]), text, flags=re.S)


def calls(text):
    return [number for number, line in enumerate(bare(text).splitlines(), 1) if CALL.search(line)]


def probe():
    """What this is for, it sees."""
    seen = ["bson_append_int32(b, n, -1, 1);", 'BSON_APPEND_UTF8 (b, "a", "b");', 'x = BCON_NEW("a", y);']
    passed = ["/* bson_append_int32(b, n, -1, 1); */", 'fail("BCON_NEW()");', "ash__builder_int32(&b, n, 1);", "bson_copy_to(a, b);"]
    return [line for line in seen if not calls(line)] + [line for line in passed if calls(line)]


def main():
    src = pathlib.Path(sys.argv[1]) / "src"
    found = {}
    for folder in FOLDERS:
        for path in sorted((src / folder).rglob("*.[ch]")):
            lines = calls(path.read_text(encoding="utf-8"))
            if lines:
                found[path.relative_to(src).as_posix()] = lines
    results = [
        ("the check sees what it is for", probe()),
        (f"documents are built by the builder in {', '.join(FOLDERS)}",
         [f"{name}:{line}" for name, lines in found.items() for line in lines]),
    ]
    print(f"1..{len(results)}")
    for number, (text, bad) in enumerate(results, 1):
        for line in bad:
            print("#", line)
        print(f"{'not ok' if bad else 'ok'} {number} {text}")
    return any(bad for _, bad in results)


sys.exit(main())
