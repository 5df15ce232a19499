#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Types the lines behind "$ " of a page's console blocks into one bash, and compares what it says.

usage: type_page.py PAGE

"..." in the page stands for anything within a line; runs of blanks are one blank."""
import re
import subprocess
import sys

END = '=== end of what it said ==='


def blocks(text):
    return re.findall(r'^```console\n(.*?)^```$', text, re.M | re.S)


def steps(block):
    """(command, lines that are expected) of each."""
    found = []
    for line in block.splitlines():
        if line.startswith('$ '):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def matches(expected, said):
    def flat(line):
        return re.sub(r'\s+', ' ', line).strip()
    pattern = '.*'.join(re.escape(part.strip()) for part in flat(expected).split('...'))
    return re.fullmatch(pattern.replace('.*', r'\s*.*\s*'), flat(said)) is not None


def main():
    shell = subprocess.Popen(['bash'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    typed = failed = 0
    for block in blocks(open(sys.argv[1], encoding='utf-8').read()):
        for command, expected in steps(block):
            shell.stdin.write(f'{command}\necho "{END}"\n')
            shell.stdin.flush()
            said = []
            for line in shell.stdout:
                if line.rstrip('\n') == END:
                    break
                said.append(line.rstrip('\n'))
            typed += 1
            if len(said) != len(expected) or not all(map(matches, expected, said)):
                failed += 1
                print(f'$ {command}', *(f'  expected: {line}' for line in expected), *(f'  said:     {line}' for line in said), sep='\n')
    shell.stdin.close()
    shell.wait()
    print(f'{typed} lines typed, {failed} said something else')
    return typed == 0 or failed > 0


if __name__ == '__main__':
    sys.exit(main())
