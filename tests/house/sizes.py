#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Size report: the largest files and the longest functions; fails over 800 lines a file or 100 a function.

usage: sizes.py SOURCE_ROOT
"""
import glob
import os
import sys

root = sys.argv[1]
files, functions = [], []
for pattern in ("src/**/*.[ch]", "include/**/*.h", "tests/**/*.[ch]", "tests/**/*.py", "tests/**/*.js", "tests/**/*.sh",
                "bench/**/*.[ch]", "tools/*"):
    for path in glob.glob(os.path.join(root, pattern), recursive=True):
        if not os.path.isfile(path) or "node_modules" in path:
            continue
        lines = open(path, encoding="utf-8").read().splitlines()
        name = os.path.relpath(path, root)
        files.append((len(lines), name))
        start = None
        for number, line in enumerate(lines, 1):
            if path.endswith(".c") and line.startswith("{"):
                start = number
            elif path.endswith(".c") and line.startswith("}") and start:
                functions.append((number - start + 1, f"{name}:{start}"))
                start = None
files.sort(reverse=True)
functions.sort(reverse=True)
print("# largest files:", *(f"{size} {name}" for size, name in files[:8]), sep="\n#   ")
print("# longest functions:", *(f"{size} {name}" for size, name in functions[:8]), sep="\n#   ")
long = sum(size > 60 for size, _ in functions)
print(f"# {len(functions)} functions, {long} over 60 lines; {sum(s > 500 for s, _ in files)} of {len(files)} files over 500")
bad_files = [f for f in files if f[0] > 800]
bad_functions = [f for f in functions if f[0] > 100]
print("1..2")
print("not ok" if bad_files else "ok", "1 no file over 800 lines")
print("not ok" if bad_functions else "ok", "2 no function over 100 lines")
sys.exit(bool(bad_files or bad_functions))
