#!/usr/bin/env python3
"""Medians, ranges and ratios of a comparison, as Markdown.

    tests/load/compare/table.py RESULTS.json
"""

import json
import statistics
import sys


def written(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def cell(values: list[float]) -> str:
    """The median and, in brackets, the range."""
    return f"{written(statistics.median(values))} ({written(min(values))} to {written(max(values))})"


def ours_for(label: str) -> str:
    """With whom a peer is compared: ours on the same kind of bus."""
    return "Carillon + Redis" if label.endswith("+ Redis") else "Carillon"


def ratio(row: dict, ours: list[float], theirs: list[float]) -> str:
    """How many times better ours is; below 1 theirs is."""
    own, other = statistics.median(ours), statistics.median(theirs)
    better, worse = (other, own) if row["less_is_better"] else (own, other)
    return f"{better / worse:.2f}" if worse > 0 else "-"


def lines(results: dict) -> list[str]:
    out = []
    for row in results["rows"]:
        out += [f"**{row['title']}** ({row['unit']}, {'less' if row['less_is_better'] else 'more'} is better)", ""]
        out += ["| server | median (range) | ours is better by | in the test |", "| --- | --: | --: | --- |"]
        for label, peer in results["peers"].items():
            if row["only_with_redis"] and not label.endswith("+ Redis"):
                continue
            trouble = peer.get("troubles", {}).get(row["key"])
            note = "; ".join(part for part in (peer["without"], trouble) if part)
            values = peer.get("values", {}).get(row["key"], [])
            if not values:
                out.append(f"| {label} | {peer.get('unavailable') or 'no result'} | - | {note} |")
                continue
            ours = results["peers"].get(ours_for(label), {}).get("values", {}).get(row["key"], [])
            by = "" if label == ours_for(label) or not ours else ratio(row, ours, values)
            out.append(f"| {label} | {cell(values)} | {by} | {note} |")
        out.append("")
    return out + not_led(results)


def not_led(results: dict) -> list[str]:
    """The rows in which another is better, so that no reader has to look for them."""
    out = []
    for row in results["rows"]:
        for label, peer in results["peers"].items():
            ours = results["peers"].get(ours_for(label), {}).get("values", {}).get(row["key"], [])
            values = peer.get("values", {}).get(row["key"], [])
            by = ratio(row, ours, values) if ours and values else "-"
            if by != "-" and float(by) < 1:
                out.append(f"- {row['title']}: {label}, {by}")
    return ["**Rows that we do not lead**, by the medians (ours is better by):", "", *(out or ["- none"]), ""]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print("\n".join(lines(json.load(file))))
