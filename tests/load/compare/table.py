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
    """The label of Carillon on the same kind of bus."""
    return "Carillon + Redis" if label.endswith("+ Redis") else "Carillon"


def measured(results: dict, label: str, row: dict) -> list[float]:
    return results["peers"].get(label, {}).get("values", {}).get(row["key"], [])


def ratio(results: dict, label: str, row: dict) -> str:
    """How many times better Carillon is (below 1: worse). Empty for Carillon itself, and if it was not measured."""
    ours = measured(results, ours_for(label), row)
    if label == ours_for(label) or not ours:
        return ""
    own, other = statistics.median(ours), statistics.median(measured(results, label, row))
    better, worse = (other, own) if row["less_is_better"] else (own, other)
    return f"{better / worse:.2f}" if worse > 0 else "-"


def lines(results: dict) -> list[str]:
    out, not_led = [], []
    for row in results["rows"]:
        out += [f"**{row['title']}** ({row['unit']}, {'less' if row['less_is_better'] else 'more'} is better)", ""]
        out += ["| server | median (range) | ours is better by | in the test |", "| --- | --: | --: | --- |"]
        for label, peer in results["peers"].items():
            if row["only_with_redis"] and not label.endswith("+ Redis"):
                continue
            problem = peer.get("problems", {}).get(row["key"])
            note = "; ".join(part for part in (peer["without"], problem) if part)
            values = measured(results, label, row)
            if not values:
                out.append(f"| {label} | {peer.get('unavailable') or 'no result'} | - | {note} |")
                continue
            by = ratio(results, label, row)
            out.append(f"| {label} | {cell(values)} | {by} | {note} |")
            if by not in ("", "-") and float(by) < 1:
                not_led.append(f"- {row['title']}: {label}, {by}")
        out.append("")
    # In a list of their own, so that readers need not look for them.
    return out + ["**Rows that we do not lead**, by the medians (ours is better by):", "", *(not_led or ["- none"]), ""]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print("\n".join(lines(json.load(file))))
