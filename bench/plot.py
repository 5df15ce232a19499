#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A plot of each figure and a table of ratios.  usage: plot.py RESULTS.csv FOLDER

A line of the file is figure,peer,value,unit.  Where a figure has several values of a peer (one a run), the
median counts.  Ashlar's ratio to each peer is printed so that more than 1 is better for Ashlar.
"""

import csv
import html
import os
import statistics
import sys

TITLES = {
    "ingest": "P1: files of 16 MiB, durable each",
    "churn": "P2: delete half, write as much anew: slowest of five rounds",
    "churn_written": "P2: written to the device",
    "churn_disk": "P2: disk taken at the end",
    "churn_mixed": "P2, mixed chunk sizes: slowest of five rounds",
    "churn_mixed_written": "P2, mixed chunk sizes: written to the device",
    "churn_mixed_disk": "P2, mixed chunk sizes: disk taken at the end",
    "read": "P3: warm sequential read",
    "ranges": "P3: open a file and read 4 KiB at random",
    "seeks": "P3: read 4 KiB at random in open files",
    "small_1": "P4: files of 4 KiB, durable each, one writer",
    "small_32": "P4: files of 4 KiB, durable each, 32 writers",
    "commit_p50": "P5: commit of a document, median",
    "commit_p99": "P5: commit of a document, 99th percentile",
    "commit_bulk": "P5: the upload meanwhile",
    "chunks_put": "P6: chunks inserted over loopback",
    "chunks_get": "P6: chunks found over loopback",
    "layers_put": "one large file put, through every layer",
    "layers_get": "one large file read back, through every layer",
    "layers_small": "2,000 files of 4 KiB put, through every layer",
    "docs_load": "documents with two indexes: load, 1,000 a commit",
    "docs_get": "documents: get by _id",
    "docs_range": "documents: range of 100 by an index",
    "docs_update": "documents: update one, durable",
    "locks_files_first": "10,000 files, the first write lock of each",
    "locks_files_again": "10,000 files, a write lock of each",
    "locks_wake_p50": "a waiting writer, after the last reader's release: median",
    "locks_wake_max": "a waiting writer, after the last reader's release: slowest",
    "locks_crowd_reads": "5,000 readers and 50 writers at one file: read locks",
    "locks_crowd_writes": "5,000 readers and 50 writers at one file: write locks",
    "locks_crowd_wait": "5,000 readers and 50 writers at one file: how long a writer waits",
    "objects_put": "objects: a large one put",
    "objects_get": "objects: a large one read back",
    "objects_put_small": "objects of 4 KiB put, one writer",
    "objects_get_small": "objects of 4 KiB read back, one reader",
    "objects_put_small_16": "objects of 4 KiB put, 16 writers",
}
# The goals: (figure, mine, peer) -> the least ratio.
GOALS = {
    ("ingest", "ashlar", "raw files"): 1.3,
    ("churn", "ashlar", "raw files"): 2.5,
    ("churn_mixed", "ashlar", "raw files"): 2.5,
    ("read", "ashlar", "memcpy"): 0.5,
    ("seeks", "ashlar", "lmdb"): 0.8,
    ("small_1", "ashlar", "sqlite"): 1,
    ("small_32", "ashlar", "sqlite"): 5,
    ("commit_p50", "during upload", "idle"): 1 / 1.5,
    ("commit_p99", "during upload", "idle"): 1 / 5,
    ("chunks_put", "libmongoc", "tcp copy"): 0.3,
    ("chunks_get", "libmongoc", "tcp copy"): 0.5,
    ("objects_put", "ashlar", "nats.go"): 0.9,
    ("objects_get", "ashlar", "nats.go"): 1,
    ("objects_get_small", "ashlar", "nats.go"): 3,
    ("objects_put", "in a folder", "nats.go"): 1.5,
    ("objects_put_small", "in a folder", "nats.go"): 3,
    ("objects_put_small", "100 a commit", "nats.go"): 3,
}
# Bounds of a value itself.
LIMITS = {("churn_written", "ashlar"): 1.05, ("churn_disk", "ashlar"): 1.1,
          ("churn_mixed_written", "ashlar"): 1.05, ("churn_mixed_disk", "ashlar"): 1.1}
LESS_IS_BETTER = {"us", "bytes/byte", "x live", "MB"}
MINE = ["ashlar", "ashlar bare", "in process", "during upload", "library", "command", "libmongoc", "in a folder",
        "100 a commit"]
PALETTE = {True: "#2f6f8f", False: "#b9c4cc"}


def read_figures(path):
    """{figure: (unit, {peer: median})} in the order of the file."""
    figures = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.reader(file):
            if len(row) == 4:
                unit, peers = figures.setdefault(row[0], (row[3], {}))
                peers.setdefault(row[1], []).append(float(row[2]))
    return {name: (unit, {peer: statistics.median(values) for peer, values in peers.items()})
            for name, (unit, peers) in figures.items()}


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def draw(name, unit, peers):
    """Horizontal bars; they start at zero."""
    left, bar, gap, width = 150, 24, 10, 760
    height = 64 + len(peers) * (bar + gap) + 14
    most = max(peers.values()) or 1
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="14" y="24" font-size="16" font-weight="bold">{html.escape(TITLES.get(name, name))}</text>',
        f'<text x="14" y="43" fill="#555">{html.escape(unit)}; '
        f'{"less" if unit in LESS_IS_BETTER else "more"} is better</text>',
    ]
    for i, (peer, value) in enumerate(peers.items()):
        y = 60 + i * (bar + gap)
        length = max(1, (width - left - 110) * value / most)
        lines.append(f'<text x="{left - 8}" y="{y + 17}" text-anchor="end">{html.escape(peer)}</text>')
        lines.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{bar}" fill="{PALETTE[peer in MINE]}"/>')
        lines.append(f'<text x="{left + length + 8:.1f}" y="{y + 17}">{number(value)}</text>')
    return "\n".join(lines + ["</svg>", ""])


def goal_of(figure, mine, peer, ratio):
    goal = GOALS.get((figure, mine, peer))
    if goal is None:
        return ""
    return f"goal {goal:.2g}: {'reached' if ratio >= goal else f'missed by {goal / ratio:.2g} x'}"


def print_table(figures):
    print(f"{'figure':20} {'of':14} {'against':14} {'ratio':>8}")
    for name, (unit, peers) in figures.items():
        for mine in MINE:
            if mine not in peers:
                continue
            if (name, mine) in LIMITS:
                limit = LIMITS[(name, mine)]
                verdict = "reached" if peers[mine] <= limit else "missed"
                print(f"{name:20} {mine:14} {unit:14} {peers[mine]:8.3g}  goal at most {limit}: {verdict}")
            for peer, value in peers.items():
                if peer in MINE or not value or not peers[mine]:
                    continue
                ratio = value / peers[mine] if unit in LESS_IS_BETTER else peers[mine] / value
                print(f"{name:20} {mine:14} {peer:14} {ratio:8.3g}  {goal_of(name, mine, peer, ratio)}".rstrip())


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: plot.py RESULTS.csv FOLDER")
    figures = read_figures(sys.argv[1])
    for name, (unit, peers) in figures.items():
        with open(os.path.join(sys.argv[2], name + ".svg"), "w", encoding="utf-8") as file:
            file.write(draw(name, unit, peers))
    print_table(figures)


if __name__ == "__main__":
    main()
