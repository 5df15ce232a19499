#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count test cases in Meson's log: each TAP line is one, each plain test program is one.

usage: tally.py LOG [--listed FILE] [--status N]

A program that timed out, ended early or never ran is a failure beside the cases that it told of.  --listed FILE has what should
have run (`meson test --list`); --status is Meson's own exit status: 0 failures are not believed when it is another than 0.
"""
import argparse
import json
import os
import re
import sys

TAP = re.compile(r"^(not ok|ok)\b(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)(.*)$")


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def skip(self, what):
        self.skipped += 1
        print(f"skipped: {what}")

    def fail(self, what):
        self.failed += 1
        print(f"FAILED: {what}")

    def case(self, name, word, rest):
        if "# SKIP" in rest.upper():
            self.skip(f"{name}:{rest}")
        elif word == "ok":
            self.passed += 1
        else:
            self.fail(f"{name}:{rest}")
            return 1
        return 0

    def program(self, test):
        """One row of the log."""
        name, result = test["name"], test["result"]
        lines = (test.get("stdout") or "").splitlines()
        cases = [m for m in map(TAP.match, lines) if m]
        plans = [m for m in map(PLAN.match, lines) if m]
        planned = sum(int(m[1]) for m in plans)
        failures = sum(self.case(name, m[1], m[2]) for m in cases)
        good = result in ("OK", "SKIP", "EXPECTEDFAIL")
        if plans and len(cases) != planned:
            self.fail(f"{name} ({result}): {len(cases)} of {planned} cases")
        elif result in ("TIMEOUT", "INTERRUPT") or (not good and not failures):
            self.fail(f"{name} ({result})")
        elif result == "SKIP" and not cases:
            self.skip(name + "".join(m[2] for m in plans))
        elif not cases:
            self.passed += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("log")
    parser.add_argument("--listed")
    parser.add_argument("--status", type=int, default=0)
    options = parser.parse_args()
    count = Count()
    ran = set()
    if os.path.exists(options.log):
        for line in open(options.log, encoding="utf-8"):
            test = json.loads(line)
            ran.add(test["name"])
            count.program(test)
    if options.listed:
        names = (line.strip() for line in open(options.listed, encoding="utf-8"))
        for name in sorted({n for n in names if " / " in n} - ran):
            count.fail(f"{name}: did not run")
    if options.status and not count.failed:
        count.fail(f"meson test ended with {options.status}")
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    sys.exit(1 if count.failed or not count.passed else 0)


main()
