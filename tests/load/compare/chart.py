#!/usr/bin/env python3
"""Draws one row of a comparison as SVG: one bar per server, its range as a line.

    tests/load/compare/chart.py RESULTS.json ROW FILE.svg     # ROW: memory, broadcast, queued, …
"""

import json
import statistics
import sys
from xml.sax.saxutils import escape

from table import written

WIDTH, LEFT, RIGHT, TOP, STEP, BAR = 760, 190, 90, 44, 30, 18
OURS, THEIRS, LINE = "#b45309", "#94a3b8", "#334155"


def svg(results: dict, key: str) -> str:
    row = next(row for row in results["rows"] if row["key"] == key)
    bars = [(label, values) for label, peer in results["peers"].items() if (values := peer.get("values", {}).get(key))]
    bars.sort(key=lambda bar: statistics.median(bar[1]), reverse=not row["less_is_better"])
    longest = max(max(values) for _, values in bars)
    scale = (WIDTH - LEFT - RIGHT) / longest
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{TOP + STEP * len(bars) + 8}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="12" y="24" font-weight="600">{escape(row["title"])} ({escape(row["unit"])})</text>',
    ]
    for place, (label, values) in enumerate(bars):
        top, median = TOP + STEP * place, statistics.median(values)
        middle, low, high = top + BAR / 2, LEFT + min(values) * scale, LEFT + max(values) * scale
        color = OURS if label.startswith("Carillon") else THEIRS
        out.append(f'<text x="{LEFT - 8}" y="{middle + 4:.0f}" text-anchor="end">{escape(label)}</text>')
        out.append(f'<rect x="{LEFT}" y="{top}" width="{max(median * scale, 1):.1f}" height="{BAR}" fill="{color}"/>')
        out.append(f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}" stroke="{LINE}"/>')
        out.append(f'<text x="{high + 6:.1f}" y="{middle + 4:.0f}">{written(median)}</text>')
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        results = json.load(file)
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write(svg(results, sys.argv[2]))
