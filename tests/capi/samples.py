#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs the samples of docs/C-API.md, as one program, and those of the public headers, one by one.

usage: samples.py ROOT LIBRARY COMPILER… -- FLAGS…
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HEADERS_WITHOUT = {'ashlar.h'}
# libmongoc says so before main(), when a process of the same number was killed and left its shared memory.
NOT_OURS = 'mongoc: Falling back to malloc for counters'
FENCE = re.compile(r'^```(c top|c|text)\n(.*?)^```$', re.M | re.S)
TOP = '#include <ashlar/ashlar.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n'


def page_program(text):
    """The page's C as one source, and what it says that it prints."""
    blocks = FENCE.findall(text)
    top = ''.join(body for kind, body in blocks if kind == 'c top')
    main = ''.join(body for kind, body in blocks if kind == 'c')
    printed = ''.join(body for kind, body in blocks if kind == 'text')
    return f'{top}\nint main(void)\n{{\n{main}return 0;\n}}\n', printed


def header_sample(text):
    """The lines behind " * Example:" that are indented by five; "" when there is none."""
    _, mark, rest = text.partition('\n * Example:\n')
    lines = []
    for line in rest.split('\n') if mark else []:
        if not (line.startswith(' *     ') or line == ' *'):
            break
        lines.append(line[7:])
    return '\n'.join(lines).strip('\n')


def header_program(sample):
    """A sample is a program, or what one does in main; None when there is none."""
    if 'int main(' in sample:
        return f'{TOP}\n{sample}\n'
    return f'{TOP}\nint main(void)\n{{\n{sample}\nreturn 0;\n}}\n' if sample else None


def try_program(source, library, compiler, flags):
    """(what it printed, what went wrong or None)"""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / 'sample.c').write_text(source)
        built = subprocess.run([*compiler, '-std=c11', '-Wall', '-Wextra', '-Werror', *flags, 'sample.c', '-o', 'sample', library,
                                f'-Wl,-rpath,{pathlib.Path(library).parent}', '-lbson-1.0'],
                               cwd=folder, capture_output=True, text=True)
        if built.returncode != 0:
            return '', built.stderr
        ran = subprocess.run(['./sample'], cwd=folder, capture_output=True, text=True, timeout=120, env={**os.environ, 'HOME': folder})
        said = ''.join(line for line in ran.stderr.splitlines(True) if NOT_OURS not in line)
        wrong = f'exit status {ran.returncode}: {said}' if ran.returncode != 0 or said else None
        return ran.stdout, wrong


def main():
    split = sys.argv.index('--')
    root, library, compiler, flags = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:split], sys.argv[split + 1:]
    headers = [h for h in sorted((root / 'include/ashlar').glob('*.h')) if h.name not in HEADERS_WITHOUT]
    tests = [('docs/C-API.md', *page_program((root / 'docs/C-API.md').read_text()))]
    for header in headers:
        sample = header_sample(header.read_text())
        tests.append((f'the sample in {header.name}', header_program(sample), None))
    print(f'1..{len(tests)}')
    failed = 0
    for number, (name, source, expected) in enumerate(tests, 1):
        printed, wrong = try_program(source, library, compiler, flags) if source else ('', 'there is none')
        if wrong is None and expected is not None and printed != expected:
            wrong = f'printed:\n{printed}\nexpected:\n{expected}'
        failed += wrong is not None
        print(f'{"ok" if wrong is None else "not ok"} {number} - {name}')
        for line in (wrong or '').splitlines():
            print(f'# {line}')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
