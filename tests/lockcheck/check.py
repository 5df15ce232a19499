#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that change and read one file under locks, stopped and killed at random, with clocks that are wrong; then
the history of what they did is checked.

usage: check.py URI --worker PROGRAM [--peer SCRIPT] [--seconds N] [--ours N] [--peers N] [--seed N] [--skew S] [--unfenced]

--worker is lock-worker; --peer is peer.js, in a folder where node finds its packages.  Each start of a process draws
its clock: right, or up to --skew seconds ahead or behind (libfaketime).

Violations: two commits of one version (an update was lost); a commit with a smaller token than that of an earlier
version; more versions that nobody recorded than processes that were killed; a last version below a recorded one; a
reader that held its lock to the end and saw two versions; a wait that went on over a second past its time-out; a
process that does nothing any more; a lock that is not free at the end.

A wait is not late while its process is stopped, or while the whole machine stands still: a thread here sleeps for
20 ms at a time and writes down how much longer it took.

Exit status 0: no violation; 1: some; 2: the run says nothing (too little was done, or too much failed).
"""
import argparse
import bisect
import collections
import glob
import heapq
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

LATE_MS = 1000
IDLE_MS = 6000
TICK_S = 0.02


def now_ms():
    return time.monotonic_ns() // 1000000


class Ticker(threading.Thread):
    """How long everything stood still, and when."""

    def __init__(self):
        super().__init__(daemon=True)
        self.times, self.sums, self.over = [0], [0], False

    def run(self):
        last = time.monotonic()
        while not self.over:
            time.sleep(TICK_S)
            at = time.monotonic()
            lag = int((at - last - TICK_S) * 1000)
            last = at
            if lag >= 10:
                self.sums.append(self.sums[-1] + lag)
                self.times.append(int(at * 1000))

    def lag_ms(self, start, end):
        """Of what ended in that time, and a little after it."""
        first, last = bisect.bisect_left(self.times, start), bisect.bisect_right(self.times, end + 100)
        return self.sums[last - 1] - self.sums[max(first - 1, 0)]


class Child:
    """A place that one process after the other takes."""

    def __init__(self, number, is_peer, options):
        self.number, self.is_peer, self.options = number, is_peer, options
        self.stops, self.stopped_at, self.process, self.starts = [], None, None, []

    def command(self, seed):
        o = self.options
        common = [o.uri, o.history, str(self.number), str(seed)]
        if self.is_peer:
            return ["node", o.peer, *common]
        return [o.worker, *common, "unfenced" if o.unfenced else "fenced"]

    def start(self, rng):
        env = dict(os.environ)
        skew = rng.choice([0, 0, rng.uniform(-1, 1) * self.options.skew])
        if skew and self.options.faketime:
            env.update(LD_PRELOAD=self.options.faketime, FAKETIME=f"{skew:+.3f}s",
                       DONT_FAKE_MONOTONIC="1", FAKETIME_DONT_FAKE_MONOTONIC="1")
        self.process = subprocess.Popen(self.command(rng.randrange(1 << 31)), env=env, stdin=subprocess.DEVNULL,
                                        cwd=os.path.dirname(self.options.peer) if self.is_peer else None)
        self.starts.append(now_ms())

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.stopped_at = None

    def stop(self):
        self.stopped_at = now_ms()
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        if self.stopped_at is None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.stops.append((self.stopped_at, now_ms()))
        self.stopped_at = None

    def stopped_ms(self, start, end):
        return sum(max(0, min(end, to) - max(start, since)) for since, to in self.stops)


def torment(children, seconds, rng):
    """Returns how many were killed."""
    until, kills, wake = time.monotonic() + seconds, 0, []
    while time.monotonic() < until:
        time.sleep(rng.uniform(0, 0.12))
        while wake and wake[0][0] <= time.monotonic():
            heapq.heappop(wake)[2].go_on()
        child = rng.choice(children)
        if child.process.poll() is not None:
            child.start(rng)
        elif child.stopped_at is None and rng.randrange(8) == 0:
            child.kill()
            kills += 1
            child.start(rng)
        elif child.stopped_at is None:
            child.stop()
            heapq.heappush(wake, (time.monotonic() + rng.uniform(0.1, 1.0), kills + rng.random(), child))
    for child in children:
        child.go_on()
    return kills


class Judge:
    def __init__(self, lines, children, ticker):
        self.children, self.ticker = children, ticker
        self.by_op = collections.defaultdict(list)
        for line in lines:
            self.by_op[line["op"]].append(line)
        self.violations = []

    def blame(self, what, *lines):
        self.violations.append(what + "".join(f"\n#     {json.dumps(line)}" for line in lines))

    def commits(self, kills):
        versions = collections.defaultdict(list)
        for line in self.by_op["commit"]:
            versions[line["version"]].append(line)
        highest = 0
        last_token, last_line = 0, None
        for version in sorted(versions):
            if len(versions[version]) > 1:
                self.blame("update lost: two commits of one version", *versions[version])
            line = versions[version][0]
            if line["token"] is not None:
                if line["token"] <= last_token:
                    self.blame("commit of a stale holder", last_line, line)
                last_token, last_line = line["token"], line
            highest = version
        missing = highest - len(versions)
        if missing > kills:
            self.blame(f"{missing} versions that nobody recorded, and {kills} processes were killed")
        return highest

    def reads(self):
        for line in self.by_op["read"]:
            if line["held"] and line["first"] != line["second"]:
                self.blame("reader saw two versions", line)

    def late_ms(self, line):
        child = self.children[line["p"]]
        start, end = line["start"], line["end"]
        return (end - start - line["limit"] - child.stopped_ms(start, end) - self.ticker.lag_ms(start, end))

    def waits(self):
        latest = max((self.late_ms(line) for line in self.by_op["wait"]), default=0)
        for line in self.by_op["wait"]:
            if self.late_ms(line) > LATE_MS:
                self.blame(f"waiter {self.late_ms(line)} ms past its time-out", line)
        return latest

    def idle(self, end):
        last = {}
        for lines in self.by_op.values():
            for line in lines:
                last[line["p"]] = max(last.get(line["p"], 0), line["at"])
        for child in self.children:
            since = max(last.get(child.number, 0), child.starts[-1])
            idle = end - since - child.stopped_ms(since, end) - self.ticker.lag_ms(since, end)
            if idle > IDLE_MS:
                self.blame(f"process {child.number} did nothing for {idle} ms")

    def end(self, highest):
        last = self.by_op["last"]
        if not last:
            self.blame("the lock cannot be had at the end")
        elif last[0]["state"] != "free" or last[0]["version"] < highest:
            self.blame(f"the end is not as it should be, after version {highest}", *last)


def take_last(options):
    command = [options.worker, options.uri, options.history, "-1", "1", "last"]
    subprocess.run(command, check=False, timeout=180)


def read_history(path):
    lines = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for text in file:
            try:
                lines.append(json.loads(text))
            except ValueError:
                print(f"# not a line of history: {text[:200]!r}", file=sys.stderr)
    return lines


def report(judge, children, kills, latest):
    op = judge.by_op
    peers = {child.number for child in children if child.is_peer}

    def split(name, test=lambda line: True):
        of_peers = sum(1 for line in op[name] if line["p"] in peers and test(line))
        return f"{sum(1 for line in op[name] if test(line)) - of_peers} + {of_peers}"

    print(f"# Ashlar + package: {len(children) - len(peers)} + {len(peers)} processes; "
          f"{sum(len(child.stops) for child in children)} stops, {kills} kills")
    print(f"# grants {split('wait', lambda line: line['got'])}, time-outs {split('wait', lambda line: not line['got'])}, "
          f"commits {split('commit')}, refused {split('refused')}, "
          f"reads {split('read', lambda line: line['held'])}, lost meanwhile {split('read', lambda line: not line['held'])}, "
          f"failures {split('failed')}")
    print(f"# latest waiter: {max(latest, 0)} ms past its time-out; "
          f"the machine stood still for {judge.ticker.sums[-1]} ms in all")
    for line in op["failed"][:5]:
        print(f"# failed: {json.dumps(line)[:400]}")
    print(f"# violations: {len(judge.violations)}")
    for violation in judge.violations[:10]:
        print(f"#   {violation}")


def says_something(judge, children):
    op = judge.by_op
    enough = all(sum(1 for line in op["commit"] if children[line["p"]].is_peer == is_peer) >= 3
                 for is_peer in {child.is_peer for child in children})
    done = sum(len(op[name]) for name in ("commit", "refused", "read"))
    return enough and op["read"] and len(op["failed"]) <= 3 + done // 20


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("uri")
    parser.add_argument("--worker", required=True)
    parser.add_argument("--peer")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--ours", type=int, default=6)
    parser.add_argument("--peers", type=int, default=0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--skew", type=float, default=0)
    parser.add_argument("--unfenced", action="store_true")
    options = parser.parse_args()
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    options.faketime = found[0] if found else None
    return options


def main():
    options = parse_options()
    folder = tempfile.mkdtemp(prefix="ash-lockcheck-")
    options.history = os.path.join(folder, "history")
    open(options.history, "w", encoding="utf-8").close()
    rng = random.Random(options.seed)
    children = [Child(n, n >= options.ours, options) for n in range(options.ours + options.peers)]
    print(f"# seed {options.seed}")
    ticker = Ticker()
    ticker.start()
    try:
        for child in children:
            child.start(rng)
        kills = torment(children, options.seconds, rng)
        end = now_ms()
    finally:
        for child in children:
            if child.process is not None:
                child.kill()
    take_last(options)
    ticker.over = True
    judge = Judge(read_history(options.history), children, ticker)
    highest = judge.commits(kills + len(children))
    judge.reads()
    latest = judge.waits()
    judge.idle(end)
    judge.end(highest)
    report(judge, children, kills, latest)
    if judge.violations and not options.unfenced:
        kept = os.path.join(tempfile.gettempdir(), "lockcheck-history.jsonl")
        shutil.copy(options.history, kept)
        print(f"# the history is kept in {kept}")
    shutil.rmtree(folder)
    sys.exit(1 if judge.violations else 0 if says_something(judge, children) else 2)


main()
