#!/usr/bin/env python3
"""Measures the node's memory per idle client: two tokens, one subscription, a condition of its own; and what of it stays
once all have left.

    tests/memory/idle_clients.py [--clients 10000] [--limit 1500]

Memory is the resident set of the node (`/proc/PID/smaps_rollup`), after minus before, both once it has come to rest;
before is a node that 200 clients have come to and gone from. What it is over a node that nobody ever came to is printed
too: memory that those 200 left behind could otherwise hide there. Each client has a user token of its own. Ends with
exit code 1 if a client costs more than the limit, in bytes, or if half a minute after the last has left the node is more
than a tenth larger than before. Uses the release build (or CARILLON_BIN); standard library only.
"""

import argparse
import json
import pathlib
import resource
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from node import DEADLINE_SECONDS, Node  # noqa: E402

# Enough to touch every path of the program once: lazily made tables, buffers, threads.
WARM_UP_CLIENTS = 200
# The allocator gives memory back within ten seconds; unchanged for three is at rest.
REST_SECONDS, LONGEST_REST_SECONDS = 3.0, 15.0
# In which the allocator gives back what clients left, and what of all memory may stay.
GIVING_BACK_SECONDS, MOST_KEPT = 30.0, 0.10
# Open files that this process needs besides its clients.
SPARE_FILES = 100
MASK = b"\x37\xfa\x21\x3d"


def frame(message: dict) -> bytes:
    payload = json.dumps(message, separators=(",", ":")).encode()
    length = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2, "big")
    return b"\x81" + length + MASK + bytes(byte ^ MASK[at % 4] for at, byte in enumerate(payload))


def entry(recipient: str) -> dict:
    condition = {"conditionType": "RESPONSE", "criteria": {"recipientId": recipient}}
    return {"eventType": "CUSTOM_WS_EVENTS", "apiName": "order-updates", "condition": condition}


def connect(node: Node, api_token: str, number: int, subscriptions: int = 1) -> socket.socket:
    """Opens one client, registers its subscriptions in the same breath, and reads both answers."""
    entries = [entry(f"u{number}" if place == 0 else f"u{number}-{place}") for place in range(subscriptions)]
    handshake = (
        "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        f"x-am-authorization: {api_token}\r\nx-am-user-authorization: {node.user_token(f'u{number}')}\r\n\r\n"
    )
    client = socket.create_connection((node.host, node.port), DEADLINE_SECONDS)
    client.sendall(handshake.encode() + frame({"objType": "REGISTER", "onEvents": entries}))
    answer = b""
    while not (b"invalidOnEvents" in answer and answer.endswith(b"}}")):
        piece = client.recv(4096)
        answer += piece
        if not piece or b'"error"' in answer:
            raise RuntimeError(f"client {number} was not served: {answer!r}")
    return client


def resident_bytes(pid: int) -> int:
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Rss:"))


def at_rest(pid: int) -> int:
    """The resident set once it has not changed for a while."""
    end = time.monotonic() + LONGEST_REST_SECONDS
    since, last = time.monotonic(), resident_bytes(pid)
    while time.monotonic() < min(end, since + REST_SECONDS):
        time.sleep(0.1)
        now = resident_bytes(pid)
        if now != last:
            since, last = time.monotonic(), now
    return last


def wait_for_metric(node: Node, name: str, value: float) -> None:
    """Waits until the metric has this value, summed over its labels."""
    end = time.monotonic() + DEADLINE_SECONDS
    while (current := node.metric(name)) != value:
        if time.monotonic() > end:
            raise RuntimeError(f"{name} is {current} after {DEADLINE_SECONDS} s, not {value}")
        time.sleep(0.05)


def warm_up(node: Node, api_token: str, subscriptions: int = 1) -> None:
    """Connects and disconnects a few clients."""
    for client in [connect(node, api_token, number, subscriptions) for number in range(WARM_UP_CLIENTS)]:
        client.close()
    wait_for_metric(node, "carillon_sessions", 0)


def allow_open_files(count: int) -> None:
    """Raises this process's own limit; the node it starts inherits it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if count > hard:
        sys.exit(f"{count} open files are needed, {hard} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def kept(node: Node, before: int) -> float:
    """By how much the node is larger than before its clients came, as a part; waits until it is little."""
    end = time.monotonic() + GIVING_BACK_SECONDS
    while (part := resident_bytes(node.process.pid) / before - 1) > MOST_KEPT and time.monotonic() < end:
        time.sleep(0.1)
    return part


def measure(node: Node, count: int) -> tuple[float, float]:
    """Bytes of the node for each of so many clients, and what it keeps of them, as a part of all its memory."""
    api_token = node.api_token("connect")
    fresh = at_rest(node.process.pid)
    warm_up(node, api_token)
    before = at_rest(node.process.pid)
    start = time.monotonic()
    clients = [connect(node, api_token, number) for number in range(count)]
    print(f"{count} clients connected in {time.monotonic() - start:.1f} s")
    wait_for_metric(node, "carillon_sessions", count)
    after = at_rest(node.process.pid)
    print(f"the node's resident set: {fresh / 1e6:.2f} MB fresh, {before / 1e6:.2f} before, {after / 1e6:.2f} with the clients")
    print(f"over the fresh node: {(after - fresh) / count:.0f} bytes for each client")
    for client in clients:
        client.close()
    wait_for_metric(node, "carillon_sessions", 0)
    return (after - before) / count, kept(node, before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--limit", type=int, default=1_500, help="bytes for each client, at most")
    arguments = parser.parse_args()
    allow_open_files(arguments.clients + SPARE_FILES)
    with Node() as node:
        cost, part = measure(node, arguments.clients)
    print(f"{cost:.0f} bytes of process memory for each idle client; {arguments.limit} are allowed")
    print(f"{part:+.1%} after all have left; {MOST_KEPT:+.0%} is allowed")
    sys.exit(cost > arguments.limit or part > MOST_KEPT)


if __name__ == "__main__":
    main()
