#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# usage: structs.py SOURCE_ROOT   what docs/STABILITY.md promises of public structs, against the headers of before
import glob
import os
import re
import sys

STRUCT = re.compile(r'typedef struct (\w+) \{(.*?)\n\} \1;', re.S)
COMMENT = re.compile(r'/\*.*?\*/', re.S)


def structs(folder):
    """name → its fields in order, without comments and layout."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, 'ashlar', '*.h'))):
        for name, body in STRUCT.findall(COMMENT.sub('', open(path).read())):
            fields = [' '.join(field.split()) for field in body.split(';')]
            found[name] = [field for field in fields if field]
    return found


def broken(today, fixed, before):
    """What differs from the promise, in words."""
    faults = []
    for name, fields in today.items():
        sized = fields[0] == 'size_t size'
        if sized == (name in fixed):
            faults.append(f'{name}: {"carries a size and" if sized else "no size, and not"} listed as never changing')
        if 'ash_op op' in fields and fields[-1] != 'ash_op op':
            faults.append(f'{name}: ash_op is not the last field')
    for name, fields in before.items():
        now = today.get(name, [])
        op = [fields[-1]] if fields[-1] == 'ash_op op' else []
        own = fields[:-1] if op else fields
        if now[:len(own)] != own or now[-1:] != (op or now[-1:]):
            faults.append(f'{name}: fields of before were moved, renamed or removed')
        if name in fixed and now != fields:
            faults.append(f'{name}: never changes, and changed')
    return faults


def main():
    root = sys.argv[1]
    stability = open(os.path.join(root, 'docs', 'STABILITY.md')).read()
    line = re.search(r'Structs without a size never change: (.*?), and everything', stability, re.S)
    fixed = set(re.findall(r'`(\w+)`', line.group(1)))
    today = structs(os.path.join(root, 'include'))
    generations = sorted(glob.glob(os.path.join(root, 'tests', 'abi', 'headers-*')))
    assert today and generations and fixed <= today.keys()
    faults = []
    for generation in generations:
        faults += [f'{os.path.basename(generation)}: {fault}' for fault in broken(today, fixed, structs(generation))]
    # It has to see what it is for.
    seen = broken({'a': ['int b', 'int c']}, set(), {}) and broken({'a': ['size_t size', 'int c']}, set(),
                                                                    {'a': ['size_t size', 'int b']})
    print('1..1')
    for fault in faults:
        print('# ' + fault)
    print(('ok' if seen and not faults else 'not ok') + ' 1 public structs grow at their end alone')
    return 0 if seen and not faults else 1


sys.exit(main())
