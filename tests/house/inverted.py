#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No line of a shell test begins with "!": set -e overlooks what is inverted, so that it could not fail.

usage: inverted.py SOURCE_ROOT      ("fails" of tests/lib.sh is what to write instead)
"""
import pathlib
import re
import sys

INVERTED = re.compile(r"\s*!\s")
HELPER = '    ! "$@"'  # the last command of "fails" itself, whose status is the function's


def lines_of(text):
    return [number for number, line in enumerate(text.splitlines(), 1) if INVERTED.match(line) and line != HELPER]


def probe():
    """What this is for, it sees."""
    seen = ["! grep x y", "        ! a | b", '! "$@"']
    passed = ["fails grep x y", "#!/bin/sh", "if ! grep x y; then", HELPER]
    return [line for line in seen if not lines_of(line)] + [line for line in passed if lines_of(line)]


def main():
    root = pathlib.Path(sys.argv[1])
    found = [f"{path.relative_to(root)}:{line}" for path in sorted((root / "tests").rglob("*.sh"))
             for line in lines_of(path.read_text(encoding="utf-8"))]
    results = [("the check sees what it is for", probe()), ("what must fail in a shell test is said with fails", found)]
    print(f"1..{len(results)}")
    for number, (text, bad) in enumerate(results, 1):
        for line in bad:
            print("#", line)
        print(f"{'not ok' if bad else 'ok'} {number} {text}")
    return any(bad for _, bad in results)


sys.exit(main())
