#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The specifications' cases of mongodb:// addresses, by the command: which it takes, and which it refuses before it asks a server.

usage: addresses.py ASHLAR EXPECTED FILE…   (FILEs as the specifications publish them)

EXPECTED has a line for valid cases that are refused, with its reason: "DESCRIPTION  # REASON", where the description may have shell
patterns.  A line that fits no such case is an error, too.
"""
import fnmatch
import json
import re
import subprocess
import sys

HOST = r"(?:localhost|localhost\.com|example\.com|127\.0\.0\.1|\[::1\])(?::270\d\d)?"


def with_nobody_there(uri):
    """The same with hosts where nobody is, and no patience."""
    match = re.fullmatch(rf"(mongodb://(?:.*@)?)({HOST}(?:,{HOST})*)((?:/[^?]*)?)(?:\?(.*))?", uri)
    if match is None:
        return uri
    hosts = ",".join(["127.0.0.1:1"] * len(match[2].split(",")))
    return f"{match[1]}{hosts}{match[3] or '/'}?{match[4] + '&' if match[4] else ''}serverSelectionTimeoutMS=1"


def answer(ashlar, uri):
    """Whether a server was looked for, and what was said."""
    run = subprocess.run([ashlar, "-s", with_nobody_there(uri), "-d", "files", "ls"], capture_output=True, text=True, timeout=60)
    if run.returncode not in (1, 2, 9):
        raise AssertionError(f"exit status {run.returncode} by {uri}: {run.stderr}")
    return re.search("no suitable server", run.stderr, re.IGNORECASE) is not None, run.stderr.strip()


def main():
    ashlar, expected, *files = sys.argv[1:]
    with open(expected) as file:
        patterns = {line.split("  # ")[0].strip(): 0 for line in file if not line.startswith("#")}
    taken, refused, bad = 0, 0, []
    for path in files:
        with open(path) as file:
            cases = json.load(file)["tests"]
        for case in cases:
            takes, said = answer(ashlar, case["uri"])
            taken, refused = taken + takes, refused + (not takes)
            if takes == case["valid"]:
                continue
            fitting = [pattern for pattern in patterns if fnmatch.fnmatchcase(case["description"], pattern)]
            for pattern in fitting:
                patterns[pattern] += 1
            if takes or not fitting:
                bad.append(f"{case['description']}: {case['uri']}: {said}")
    bad += [f"no longer so: {pattern}" for pattern, count in patterns.items() if count == 0]
    print(f"{taken} taken, {refused} refused, {sum(patterns.values())} of them for reasons of our own")
    print("".join(f"{line}\n" for line in bad), end="", file=sys.stderr)
    sys.exit(1 if bad or taken == 0 or refused == 0 else 0)


main()
