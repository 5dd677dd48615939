#!/usr/bin/env python3
"""Measures the memory of the node per idle client, and how much of it remains after all clients have disconnected.

    tests/memory/idle_clients.py [--clients 10000] [--limit 1500]

Each client has two tokens and one subscription with its own condition. Memory is the growth of the node's resident set
(`/proc/PID/smaps_rollup`), measured once it is stable. The node before the growth has already served 200 clients. The
script also prints the growth over a node that never had a client, since memory that those 200 clients left behind would
otherwise be hidden. Exits with 1 if a client costs more than the limit in bytes, or if the node is more than a tenth
larger than before half a minute after the last client has disconnected. Uses the release build (or CARILLON_BIN).
Standard library only.
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

# Enough to run every path of the program once, which creates tables, buffers and threads.
WARM_UP_CLIENTS = 200
# The allocator returns memory within ten seconds. The resident set is stable if it has not changed for three seconds.
REST_SECONDS, LONGEST_REST_SECONDS = 3.0, 15.0
# The time for the allocator to return memory of clients, and the part of all memory that may remain.
RELEASE_SECONDS, MAX_REMAINING = 30.0, 0.10
# Open files of this process besides its clients.
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
    """Opens one client, sends its REGISTER together with the handshake, and reads both answers."""
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
            raise RuntimeError(f"client {number} was refused: {answer!r}")
    return client


def resident_bytes(pid: int) -> int:
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Rss:"))


def stable_resident_bytes(pid: int) -> int:
    """The resident set, once it has not changed for a while."""
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
    """Raises the limit of open files of this process, which the node inherits."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if count > hard:
        sys.exit(f"{count} open files are needed, the limit is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def remaining(node: Node, before: int) -> float:
    """The relative growth of the node since before its clients. Waits for the allocator to return memory."""
    end = time.monotonic() + RELEASE_SECONDS
    while (part := resident_bytes(node.process.pid) / before - 1) > MAX_REMAINING and time.monotonic() < end:
        time.sleep(0.1)
    return part


def measure(node: Node, count: int) -> tuple[float, float]:
    """Bytes of the node per client, and the part of its memory that remains after the clients have disconnected."""
    api_token = node.api_token("connect")
    fresh = stable_resident_bytes(node.process.pid)
    warm_up(node, api_token)
    before = stable_resident_bytes(node.process.pid)
    start = time.monotonic()
    clients = [connect(node, api_token, number) for number in range(count)]
    print(f"{count} clients connected in {time.monotonic() - start:.1f} s")
    wait_for_metric(node, "carillon_sessions", count)
    after = stable_resident_bytes(node.process.pid)
    sizes = f"{fresh / 1e6:.2f} MB fresh, {before / 1e6:.2f} MB before, {after / 1e6:.2f} MB with the clients"
    print(f"resident set of the node: {sizes}")
    print(f"over the fresh node: {(after - fresh) / count:.0f} bytes per client")
    for client in clients:
        client.close()
    wait_for_metric(node, "carillon_sessions", 0)
    return (after - before) / count, remaining(node, before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--limit", type=int, default=1_500, help="maximum bytes per client")
    arguments = parser.parse_args()
    allow_open_files(arguments.clients + SPARE_FILES)
    with Node() as node:
        cost, part = measure(node, arguments.clients)
    print(f"{cost:.0f} bytes of process memory per idle client; the limit is {arguments.limit}")
    print(f"{part:+.1%} after all clients have disconnected; the limit is {MAX_REMAINING:+.0%}")
    sys.exit(cost > arguments.limit or part > MAX_REMAINING)


if __name__ == "__main__":
    main()
