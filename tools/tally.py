#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count test cases in Meson's log: each TAP line is one, each plain test program is one."""
import json
import re
import sys

TAP = re.compile(r"^(not ok|ok)\b(.*)$")


def main():
    passed = failed = skipped = 0
    notes = []
    for line in open(sys.argv[1], encoding="utf-8"):
        test = json.loads(line)
        cases = [m for m in map(TAP.match, (test.get("stdout") or "").splitlines()) if m]
        for case in cases:
            if "# SKIP" in case[2].upper():
                skipped += 1
                notes.append(f"skipped: {test['name']}:{case[2]}")
            elif case[1] == "ok":
                passed += 1
            else:
                failed += 1
                notes.append(f"FAILED: {test['name']}:{case[2]}")
        good = test["result"] in ("OK", "SKIP")
        if not cases and test["result"] == "SKIP":
            skipped += 1
            notes.append(f"skipped: {test['name']}")
        elif not cases and good:
            passed += 1
        elif not good and not any(c[1] == "not ok" for c in cases):
            failed += 1
            notes.append(f"FAILED: {test['name']} ({test['result']})")
    for note in notes:
        print(note)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if failed or not passed else 0)


main()
