#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One picture for people who have not asked yet: how many times faster Ashlar is than each peer, from one run of `make bench`.

usage: figure.py RESULTS.csv CAPTION >docs/figures.svg

Ratios of medians, on a logarithmic axis; to the right of the line Ashlar is faster.
"""
import html
import math
import sys

from plot import LESS_IS_BETTER, number, read_figures

SHOWN = {
    "ingest": "files of 16 MiB, durable each",
    "read": "read them again, in order",
    "seeks": "read 4 KiB at random",
    "small_1": "files of 4 KiB, durable each",
    "small_32": "the same by 32 threads",
    "docs_load": "documents: load",
    "docs_get": "documents: get by _id",
    "docs_range": "documents: 100 by an index",
    "docs_update": "documents: update, durable",
}
COLOURS = {"raw files": "#b9c4cc", "lmdb": "#7f9aa8", "sqlite": "#2f6f8f", "rocksdb": "#c9a227"}
LEFT, BAR, WIDTH, LEAST, MOST = 210, 13, 760, 0.1, 300


def place(ratio):
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + share * (WIDTH - LEFT - 60)


def ratios(unit, peers):
    for peer in COLOURS:
        if peers.get(peer) and peers.get("ashlar"):
            ratio = peers[peer] / peers["ashlar"] if unit in LESS_IS_BETTER else peers["ashlar"] / peers[peer]
            yield peer, ratio


def bars(figures, y):
    for name, title in SHOWN.items():
        rows = list(ratios(*figures[name])) if name in figures else []
        if not rows:
            continue
        yield y, f'<text x="{LEFT - 8}" y="{y + BAR * len(rows) / 2 + 4:.0f}" text-anchor="end">{html.escape(title)}</text>'
        for peer, ratio in rows:
            a, b = sorted((place(1), place(ratio)))
            after = f'{number(ratio)} × {peer}'
            yield y + BAR, (f'<rect x="{a:.1f}" y="{y}" width="{max(1, b - a):.1f}" height="{BAR - 2}" fill="{COLOURS[peer]}"/>'
                            f'<text x="{b + 6:.1f}" y="{y + 10}" font-size="10">{after}</text>')
            y += BAR
        y += 9


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: figure.py RESULTS.csv CAPTION")
    drawn = list(bars(read_figures(sys.argv[1]), 56))
    bottom = max(y for y, _ in drawn) + 14
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom + 26}" viewBox="0 0 {WIDTH} {bottom + 26}" '
          f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
          f'<text x="14" y="22" font-size="15" font-weight="bold">How many times faster Ashlar is</text>\n'
          f'<text x="14" y="41" fill="#555">{html.escape(sys.argv[2])}</text>')
    print("\n".join(line for _, line in drawn))
    print(f'<line x1="{place(1):.1f}" x2="{place(1):.1f}" y1="50" y2="{bottom}" stroke="#333"/>')
    for tick in (0.1, 1, 10, 100):
        print(f'<text x="{place(tick):.1f}" y="{bottom + 16}" text-anchor="middle" fill="#555">{tick:g}</text>')
    print("</svg>")


main()
