#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The arrows between folders hold: a library's include path finds the folders it may use and no others.

usage: layers.py COMPILER SOURCE_ROOT BUILD_ROOT 'name=dep,dep;name=…'
"""
import glob
import os
import re
import subprocess
import sys

compiler, root, build, table = sys.argv[1:]
arrows = {}
for row in table.split(";"):
    name, deps = row.split("=")
    arrows[name] = set(filter(None, deps.split(",")))
number = failures = 0


def report(good, text):
    global number, failures
    number += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {number} {text}")


def compiles(name, header):
    folder = os.path.join(build, "inc", name.replace("/", "-"))
    flags = subprocess.run(["pkg-config", "--cflags", "libbson-1.0"], capture_output=True, text=True).stdout.split()
    return subprocess.run(
        [compiler, "-std=c11", "-fsyntax-only", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", f"-I{folder}",
         f"-I{root}/include", *flags, "-x", "c", "-"],
        input=f'#include "{header}"\n', capture_output=True, text=True).returncode == 0


def a_header(folder):
    headers = sorted(glob.glob(f"{root}/src/{folder}/*.h"))
    return os.path.relpath(headers[0], f"{root}/src") if headers else None


for name, deps in arrows.items():
    for other in arrows:
        header = a_header(other)
        if header is None or other == name or name == "cmd":
            continue
        if other in deps:
            report(compiles(name, header), f"{name} may include {other}")
        elif other.split("/")[0] not in {d.split("/")[0] for d in deps | {name}}:
            report(not compiles(name, header), f"{name} cannot include {other}")

# Nested folders share their parent's link, and quotes could climb: both are looked for in the text.
bad = []
for path in glob.glob(f"{root}/src/**/*.[ch]", recursive=True):
    own = os.path.relpath(os.path.dirname(path), f"{root}/src")
    for line in open(path, encoding="utf-8"):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not match:
            continue
        used = os.path.dirname(match[1])
        if ".." in match[1] or (own in arrows and used != own and used not in arrows[own] and own != "cmd"):
            bad.append(f"{os.path.relpath(path, root)} includes {match[1]}")
for text in bad:
    print("#", text)
report(not bad, "no include goes round the arrows")
print(f"1..{number}")
sys.exit(failures > 0)
