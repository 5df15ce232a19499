#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make one include folder a library, holding links to just the folders that library may use.

usage: arrows.py SOURCE_ROOT OUTPUT_FOLDER NAME DEP...

A folder that has rooms inside ("query") is linked header by header, so that its rooms are only seen by whom they are for.
"""
import os
import shutil
import sys


def link_folder(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not any(entry.is_dir() for entry in os.scandir(source)):
        os.symlink(source, target)
        return
    os.makedirs(target, exist_ok=True)
    for entry in os.scandir(source):
        if entry.name.endswith((".h", ".def")):
            os.symlink(entry.path, os.path.join(target, entry.name))


def main():
    root, out, name, deps = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    folder = os.path.join(out, name.replace("/", "-"))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for used in sorted({name, *deps}):
        if os.path.isdir(os.path.join(root, used)):
            link_folder(os.path.join(root, used), os.path.join(folder, used))


main()
