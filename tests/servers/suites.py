#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the contract, bucket and lock suites on somebody else's server, each test by itself and bounded in time.

usage: suites.py URI LIST SOURCES BUILD SUITE…
       suites.py --names SOURCES SUITE… -- LIST…     whether the lists name each test and no other, without a server

LIST names the tests, one a line: "NAME passes", "NAME REASON" for what the server cannot pass, and "NAME not run: REASON" where a
test takes minutes there, or only sometimes passes: a skip, counted and named.  A test that passes must do so, and one that cannot must
fail, and the list names each test and no other: else it is out of date, which is a failure, too.
Prints TAP, a line a test.
"""
import os
import re
import subprocess
import sys

LIMIT_S = 120
TRIES = 3  # what a busy machine or the other server does once is no news
MANY = 10


def programs(sources, build, suite):
    """(test, program) of a suite, as its sources tell."""
    for name in sorted(os.listdir(os.path.join(sources, suite))):
        found = re.fullmatch(r"test_(\w+)\.c", name)
        program = found and os.path.join(build, {"contract": f"contract/contract-{found[1]}"}.get(suite, f"test-{suite}-{found[1]}"))
        if not found:
            continue
        with open(os.path.join(sources, suite, name), encoding="utf-8") as file:
            text = file.read()
        tables = "".join(re.findall(r"struct CMUnitTest .*?};", text, re.S))
        yield from ((test, program) for test in re.findall(r"\btest_\w+__\w+", tables))
        # A macro that completes the names.
        prefix = re.search(r"\b(test_\w+__)##", text)
        if prefix:
            yield from ((prefix[1] + test, program) for test in re.findall(r"\bT\((\w+)\)", tables))


def read_list(path):
    listed = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, reason = line.split(None, 1)
                listed[name] = reason.strip()
    return listed


def run(test, program, uri):
    env = dict(os.environ, ASH_TEST_FILTER=test, ASH_TEST_STORE=uri, ASH_BUCKET_STORE=uri, CMOCKA_MESSAGE_OUTPUT="TAP")
    try:
        done = subprocess.run([program], env=env, timeout=LIMIT_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except subprocess.TimeoutExpired as late:
        return False, (late.stdout or b"").decode(errors="replace") + f"not done after {LIMIT_S} s"
    said = done.stdout.decode(errors="replace")
    return done.returncode == 0 and f" {test}" in said, said


def verdict(test, program, uri, listed):
    """TAP's words for a test, and what to tell about it."""
    word = listed.get(test)
    if word is None:
        passed, said = run(test, program, uri)
        return f"not ok - {test} {'passes' if passed else 'fails'}, and the list does not name it", said
    if word.startswith("not run:"):
        return f"ok - {test} # SKIP {word}", ""
    for _ in range(TRIES):
        passed, said = run(test, program, uri)
        if passed == (word == "passes"):
            return f"ok - {test}" + (f" fails as listed: {word}" if not passed else ""), ""
    if passed:
        return f"not ok - {test} passes, so the list is out of date", ""
    return f"not ok - {test}", said


def check_names(sources, suites, lists):
    tests = {test for suite in suites for test, _ in programs(sources, "", suite)}
    print(f"1..{len(lists)}")
    good = True
    for path in lists:
        listed = set(read_list(path))
        for test in sorted(tests - listed):
            print(f"# it does not name {test}")
        for test in sorted(listed - tests):
            print(f"# {test} is gone, and it still names it")
        print(f"{'ok' if listed == tests else 'not ok'} - {os.path.basename(path)}")
        good = good and listed == tests
    sys.exit(not good)


def main():
    if sys.argv[1] == "--names":
        end = sys.argv.index("--")
        check_names(sys.argv[2], sys.argv[3:end], sys.argv[end + 1:])
    uri, path, sources, build = sys.argv[1:5]
    listed = read_list(path)
    tests = list(dict(pair for suite in sys.argv[5:] for pair in programs(sources, build, suite)).items())
    gone = sorted(set(listed) - set(dict(tests)))
    print(f"1..{len(tests) + len(gone)}")
    for test in gone:
        print(f"not ok - {test} is gone, and the list still names it")
    failed = len(gone)
    for test, program in tests:
        if failed >= MANY:
            print("Bail out! so many fail that the server must be gone")
            break
        line, said = verdict(test, program, uri, listed)
        failed += line.startswith("not")
        print(line)
        for part in said.splitlines()[-8:]:
            print("#  " + part[:300])
        sys.stdout.flush()
    sys.exit(failed > 0)


main()
