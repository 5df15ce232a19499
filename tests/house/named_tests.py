#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests that the documents name exist.  usage: named_tests.py SOURCE_FOLDER

In backquotes: test_… (a C function that a cmocka list names; a * at the end: some that begin so), case_… (a function of
a test script), NAME.json (cases of tests/spec).  Rows of a table that name a test must name one that exists.
"""
import os
import re
import sys

DOCUMENTS = ["SECURITY.md", "docs/CONFORMANCE.md", "docs/LOCKS.md", "docs/TREES.md"]
NAMED = re.compile(r"`(test_\w+\*?|case_\w+|[\w-]+\.json)`")


def is_listed(function, text):
    """By its name, or by a macro that puts the file's prefix before it."""
    return len(re.findall(rf"\b{function}\b", text)) > 1 or f"({function.split('__', 1)[-1]})" in text


def source_text(root):
    defined, files = set(), set()
    for folder, _, names in os.walk(os.path.join(root, "tests")):
        for name in names:
            files.add(name)
            if not name.endswith((".c", ".sh", ".py")):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            if name.endswith(".sh"):
                defined |= set(re.findall(r"^(case_\w+)\(\)", text, re.M))
            elif name.endswith(".py"):
                defined |= set(re.findall(r"^def (case_\w+)\(", text, re.M))
            else:
                # Defined, and in a list: one that nobody runs shows nothing.
                functions = set(re.findall(r"^static void (test_\w+)\(", text, re.M))
                defined |= {f for f in functions if is_listed(f, text)}
    return defined, files


def missing(path, defined, files):
    with open(path, encoding="utf-8") as file:
        names = NAMED.findall(file.read())
    if not names:
        yield "(no test at all)"
    for name in sorted(set(names)):
        if name.endswith(".json"):
            found = name in files
        elif name.endswith("*"):
            found = any(each.startswith(name[:-1]) for each in defined)
        else:
            found = name in defined
        if not found:
            yield name


def main():
    root = sys.argv[1]
    defined, files = source_text(root)
    print(f"1..{len(DOCUMENTS)}")
    failures = 0
    for number, document in enumerate(DOCUMENTS, 1):
        names = list(missing(os.path.join(root, document), defined, files))
        failures += bool(names)
        print(f"{'not ok' if names else 'ok'} {number} {document}")
        for name in names:
            print(f"#   there is no {name}")
    sys.exit(1 if failures else 0)


main()
