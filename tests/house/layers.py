#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The arrows between folders hold: every folder is in the table, the table has no circle, and a library's include path
finds the folders it may use and no others.

usage: layers.py COMPILER SOURCE_ROOT BUILD_ROOT 'name=dep,dep;name=…'
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

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


def sources(top):
    return [path for path in glob.glob(f"{top}/**/*.[ch]", recursive=True)]


def strangers(top, known):
    """Folders with sources that the table does not know."""
    found = {os.path.relpath(os.path.dirname(path), top) for path in sources(top)}
    return sorted(found - set(known) - {"."})


def ways_round(top, known):
    """Includes for which the table has no arrow."""
    bad = []
    for path in sources(top):
        own = os.path.relpath(os.path.dirname(path), top)
        for line in open(path, encoding="utf-8"):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match or own == ".":
                continue
            used = os.path.dirname(match[1])
            if ".." in match[1] or used not in {own} | known.get(own, set()):
                bad.append(f"{os.path.relpath(path, top)} includes {match[1]}")
    return bad


def unused(top, known):
    """Arrows that no include needs, be it by way of other headers: walls that stand open for nothing."""
    includes = {}

    def included(path):
        if path not in includes:
            includes[path] = set()
            if os.path.exists(os.path.join(top, path)):
                text = open(os.path.join(top, path), encoding="utf-8").read()
                direct = set(re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M))
                includes[path] = direct.union(*(included(header) for header in direct))
        return includes[path]

    bad = []
    for name, deps in known.items():
        used = {os.path.dirname(header) for path in glob.glob(f"{top}/{name}/*.[ch]")
                for header in included(os.path.relpath(path, top))}
        bad += [f"{name} → {dep}" for dep in sorted(deps - used)] if glob.glob(f"{top}/{name}/*.c") else []
    return bad


def circles(known):
    done, bad = set(), []

    def visit(name, way):
        if name in way:
            bad.append(" → ".join([*way[way.index(name):], name]))
        elif name not in done:
            for dep in sorted(known.get(name, ())):
                visit(dep, [*way, name])
            done.add(name)

    for name in known:
        visit(name, [])
    return bad


def report_none(bad, text):
    for line in bad:
        print("#", line)
    report(not bad, text)


def compiles(name, header):
    folder = os.path.join(build, "inc", name.replace("/", "-"))
    flags = subprocess.run(["pkg-config", "--cflags", "libbson-1.0", "libmongoc-1.0"], capture_output=True, text=True).stdout.split()
    return subprocess.run(
        [compiler, "-std=c11", "-fsyntax-only", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", f"-I{folder}",
         f"-I{root}/include", *flags, "-x", "c", "-"],
        input=f'#include "{header}"\n', capture_output=True, text=True).returncode == 0


def a_header(folder):
    headers = sorted(glob.glob(f"{root}/src/{folder}/*.h"))
    return os.path.relpath(headers[0], f"{root}/src") if headers else None


def open_roads():
    """Sources that the build lets see the whole of src, round their own include folder."""
    bad = []
    for entry in json.load(open(os.path.join(build, "compile_commands.json"), encoding="utf-8")):
        path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        own = os.path.relpath(os.path.dirname(path), f"{root}/src")
        if own not in arrows:
            continue
        for flag in re.findall(r"-I(\S+)", entry["command"]):
            place = os.path.normpath(os.path.join(entry["directory"], flag))
            if place == f"{root}/src" or place == root:
                bad.append(f"{os.path.relpath(path, root)} is compiled with {flag}")
    return bad


def visible(name, header):
    return os.path.exists(os.path.join(build, "inc", name.replace("/", "-"), header))


def probe():
    """What these functions are for, they see: a folder nobody knows, an include round the arrows, a circle."""
    with tempfile.TemporaryDirectory() as top:
        for path, text in (("a/a.c", '#include "b/b.h"\n'), ("b/b.h", ""), ("a/probe/p.c", '#include "b/b.h"\n')):
            os.makedirs(os.path.join(top, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(top, path), "w", encoding="utf-8") as out:
                out.write(text)
        known = {"a": set(), "b": set()}
        return (strangers(top, known) == ["a/probe"] and len(ways_round(top, known)) == 2
                and circles({"a": {"b"}, "b": {"a"}}) and unused(top, {"a": {"b", "c"}, "b": set()}) == ["a → c"])


report(probe(), "the checks see what they are for")
report_none(strangers(f"{root}/src", arrows), "every folder is in the table")
report_none(ways_round(f"{root}/src", arrows), "no include goes round the arrows")
report_none(circles(arrows), "the arrows run one way")
report_none(unused(f"{root}/src", arrows), "no arrow is drawn for nothing")
report_none(open_roads(), "the build gives a source its own include folder alone")
for name, deps in arrows.items():
    header = a_header(name)
    seen = [other for other in arrows if a_header(other) and visible(name, a_header(other))]
    report(set(seen) - {name} <= deps, f"{name} sees what its arrows lead to, and nothing else")
    # Once in earnest: what the compiler is given is what was looked at.
    if header is not None:
        report(compiles(name, header), f"{name} compiles with its own include folder")
    hidden = next((a_header(other) for other in arrows if other not in deps | {name} and a_header(other)), None)
    if hidden is not None:
        report(not compiles(name, hidden), f"{name} cannot include {hidden}")
print(f"1..{number}")
sys.exit(failures > 0)
