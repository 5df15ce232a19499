#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manual pages of the public headers: each function of the library has one, and nothing else has.

usage: man3.py ROOT LIBRARY
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT, LIBRARY = pathlib.Path(sys.argv[1]), sys.argv[2]
INLINE = {'ash_write_result_init'}
HEADERS = sorted(str(h) for h in (ROOT / 'include/ashlar').glob('*.h'))


def run(*args):
    return subprocess.run([sys.executable, str(ROOT / 'tools/man3.py'), *args], capture_output=True, text=True)


def exported():
    lines = subprocess.run(['nm', '-D', '--defined-only', LIBRARY], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split('@')[0] for line in lines.splitlines() if ' ash_' in line and ' ash__' not in line}


def of_each_function(folder):
    pages = {p.stem for p in folder.glob('ash_*.3')}
    wanted = exported() | INLINE
    return sorted(f'{name} has no page' for name in wanted - pages) + sorted(f'{name} is no function' for name in pages - wanted)


def of_each_header(folder):
    names = [pathlib.Path(h).stem for h in HEADERS if not h.endswith('/ashlar.h')]
    return [f'{name}.h has no page' for name in names if not (folder / f'ashlar_{name}.3').is_file()]


def lead_somewhere(folder):
    links = [(p.name, p.read_text().split()[1]) for p in folder.glob('*.3') if p.read_text().startswith('.so ')]
    found = [f'{name} leads to {target}' for name, target in links if not (folder / pathlib.Path(target).name).is_file()]
    return found if links else ['there are no links']


def lint(folder):
    found = []
    for page in sorted(folder.glob('*.3')):
        said = subprocess.run(['groff', '-man', '-Tutf8', '-ww', '-K', 'utf-8', '-z', page.name], cwd=folder, capture_output=True, text=True)
        found += said.stderr.splitlines()[:1] if not page.read_text().startswith('.so ') else []
    return found


def refused(folder, text, reason):
    """A header that cannot be read ends the build, by its name and line."""
    broken = folder / 'broken.h'
    broken.write_text('/* SPDX */\n/* Top. */\n\n' + text)
    said = run('--list', *HEADERS, str(broken)) if 'ASH_E' not in text else run(str(folder), '0', *HEADERS, str(broken))
    broken.unlink()
    if said.returncode == 1 and f'broken.h:4: {reason}' in said.stderr:
        return []
    return [f'{said.returncode}: {said.stderr.strip()}']


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        made = run(name, '0', *HEADERS)
        tests = [('pages are made', [made.stderr] if made.returncode else []),
                 ('a page for each function, and no other', of_each_function(folder)),
                 ('a page for each header', of_each_header(folder)),
                 ('links lead to pages', lead_somewhere(folder)),
                 ('a declaration that cannot be read', refused(folder, 'int (*ash_one)(int a);\n', 'this cannot be read')),
                 ('an error that is none', refused(folder, '/* Or ASH_ENONE. */\nint ash_one(int a);\n', 'ASH_ENONE is no error')),
                 ('roff without warnings', lint(folder) if shutil.which('groff') else None)]
    print(f'1..{len(tests)}')
    for number, (what, found) in enumerate(tests, 1):
        print(f'ok {number} - {what} # SKIP no groff' if found is None else f'{"not ok" if found else "ok"} {number} - {what}')
        for line in found or []:
            print(f'# {line}')
    return any(found for _, found in tests)


if __name__ == '__main__':
    sys.exit(main())
