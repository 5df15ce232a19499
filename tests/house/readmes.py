#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each folder of src with code has a README of at most 40 lines that names each of its files once."""
import pathlib
import re
import sys

MAX_LINES = 40
MAX_COLUMNS = 132
CODE = {'.c', '.h', '.def'}


def code_of(folder):
    return sorted(f.name for f in folder.iterdir() if f.suffix in CODE)


def named_in(text):
    """The names in backquotes of the lines under "## Files"."""
    _, _, files = text.partition('\n## Files\n')
    return [name for line in files.split('\n') if line.startswith(('- ', '  '))
            for name in re.findall(r'`([\w]+\.(?:c|h|def))`', line)]


def faults(folder, where):
    readme = folder / 'README.md'
    if not readme.is_file():
        return ['there is no README.md']
    text = readme.read_text()
    lines = text.splitlines()
    found = []
    if not lines or lines[0] != f'# {where}':
        found.append(f'the first line is not "# {where}"')
    if len(lines) > MAX_LINES:
        found.append(f'{len(lines)} lines, over {MAX_LINES}')
    found += [f'line {n} is over {MAX_COLUMNS} columns' for n, line in enumerate(lines, 1) if len(line) > MAX_COLUMNS]
    named = named_in(text)
    code = code_of(folder)
    found += [f'{name} is not named under "## Files"' for name in code if name not in named]
    found += [f'{name} is named twice' for name in sorted(set(named)) if named.count(name) > 1]
    found += [f'{name} is named but not there' for name in sorted(set(named)) if name not in code]
    return found


def main():
    src = pathlib.Path(sys.argv[1]) / 'src'
    folders = [f for f in sorted(src.rglob('*')) if f.is_dir() and code_of(f)]
    print(f'1..{len(folders)}')
    failed = 0
    for number, folder in enumerate(folders, 1):
        where = folder.relative_to(src).as_posix()
        found = faults(folder, where)
        failed += bool(found)
        print(f'{"not ok" if found else "ok"} {number} - {where}/README.md')
        for fault in found:
            print(f'# {where}: {fault}')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
