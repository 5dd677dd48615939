#!/usr/bin/env python3
"""Tests the requirements of RFC 6455 for servers on a real node, as a table of raw bytes.

    tests/python/rfc6455_table.py --port PORT --api-token JWT --user-token JWT

Each row of `rfc6455_frames` and `rfc6455_handshakes` is a sentence, the bytes to send, and the answer, which must
arrive within 5 s. Prints a line per failure and `N passed, M failed`. Exits with 0 only if nothing failed. Standard
library only.
"""

import argparse
import concurrent.futures
import sys

from raw_websocket import Broken
from rfc6455_frames import frame_rows
from rfc6455_handshakes import handshake_rows

# A node limits the sessions of a user. This is below any sensible limit.
CONNECTIONS_AT_A_TIME = 8


def fault(row, node) -> str | None:
    """Runs a row. Returns its failure, if any."""
    try:
        row.run(node)
    except (Broken, OSError) as error:
        return str(error) or type(error).__name__
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--api-token", required=True)
    parser.add_argument("--user-token", required=True)
    parser.add_argument("--message-limit", type=int, default=65536, help="maximum length of a client message, in bytes")
    parser.add_argument("--only", default="", help="run only rows whose sentence contains this text")
    parser.add_argument("--list", action="store_true", help="print the sentences and exit")
    node = parser.parse_args()

    rows = [row for row in handshake_rows(node) + frame_rows(node) if node.only in row.name]
    if node.list:
        print(*(row.name for row in rows), sep="\n")
        return
    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS_AT_A_TIME) as threads:
        faults = list(threads.map(lambda row: fault(row, node), rows))
    for row, why in zip(rows, faults):
        if why:
            print(f"FAILED {row.name}: {why}")
    failed = sum(why is not None for why in faults)
    print(f"{len(rows) - failed} passed, {failed} failed")
    sys.exit(1 if failed or not rows else 0)


if __name__ == "__main__":
    main()
