#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make one include folder a library, holding links to just the folders that library may use.

usage: arrows.py SOURCE_ROOT OUTPUT_FOLDER NAME DEP...
"""
import os
import sys


def main():
    root, out, name, deps = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    folder = os.path.join(out, name.replace("/", "-"))
    os.makedirs(folder, exist_ok=True)
    for old in os.listdir(folder):
        os.unlink(os.path.join(folder, old))
    # A nested folder ("store/embedded") is reached through its parent's link.
    for dep in sorted({d.split("/")[0] for d in [name, *deps]}):
        os.symlink(os.path.join(root, dep), os.path.join(folder, dep))


main()
