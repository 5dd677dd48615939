#!/usr/bin/env python3
"""Measures the cost of peers that do not read, or read slowly.

    tests/memory/slow_peers.py [--row pipelining|silent|burst] [--peers 100] [--seconds 20]

Rows:

* pipelining: each peer sends 400 KB of `GET /try` requests on one connection, without a token, and never reads.
* silent: each peer subscribes to one event and never reads; the node emits 200 KB to it again and again.
* burst: each peer has 100 subscriptions on one event and reads as fast as it can. One emit of 220 KB sends it 22 MB.

For each row the script prints the processor time of the node, the largest resident set of the node, the largest kernel
memory of all TCP sockets on this machine (`/proc/net/sockstat`, both ends), and how many peers were closed. The node
uses its default settings. Uses the release build (or CARILLON_BIN). Standard library only.
"""

import argparse
import os
import pathlib
import select
import selectors
import socket
import threading
import time
import urllib.error

from idle_clients import SPARE_FILES, allow_open_files, connect, entry, frame, resident_bytes, wait_for_metric
from node import DEADLINE_SECONDS, Node

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
SAMPLE_SECONDS = 0.05
REQUEST_BYTES = 400_000
SILENT_EMIT_BYTES = 200_000
# The receive buffers of peers are small, so that unread bytes stay on the node's side.
SILENT_RECEIVE_BYTES, BURST_RECEIVE_BYTES = 4096, 32768
BURST_SUBSCRIPTIONS, BURST_EMIT_BYTES = 100, 220_000
# The maximum wait for the next byte of a burst.
BURST_IDLE_SECONDS = 15.0
# The time for a node to count a closed session.
CLOSE_SECONDS = 10.0


def processor_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def kernel_bytes() -> int:
    """Memory of all TCP sockets on this machine."""
    words = pathlib.Path("/proc/net/sockstat").read_text().splitlines()[1].split()
    return int(words[words.index("mem") + 1]) * PAGE_BYTES


class Sampler(threading.Thread):
    """Samples a node. After the block of `with Sampler(node) as usage: …`, usage has its processor time and peak
    memory."""

    def __init__(self, node: Node):
        super().__init__(daemon=True)
        self.pid = node.process.pid
        self.ended = threading.Event()
        self.processor = self.resident = self.kernel = 0

    def sample(self) -> None:
        self.resident = max(self.resident, resident_bytes(self.pid))
        self.kernel = max(self.kernel, kernel_bytes() - self.kernel_before)

    def run(self) -> None:
        while not self.ended.wait(SAMPLE_SECONDS):
            self.sample()

    def __enter__(self) -> "Sampler":
        self.kernel_before, self.processor_before = kernel_bytes(), processor_seconds(self.pid)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.join()
        self.sample()
        self.processor = processor_seconds(self.pid) - self.processor_before

    def __str__(self) -> str:
        return (
            f"{self.processor:.1f} processor seconds, {self.resident / 1e6:.0f} MB resident, "
            f"{self.kernel / 1e6:.0f} MB of kernel memory"
        )


def is_disconnected(peer: socket.socket) -> bool:
    """Whether the node has closed or reset this connection. Reads nothing."""
    poll = select.poll()
    poll.register(peer, select.POLLRDHUP)
    return bool(poll.poll(0))


def measure_pipelining(node: Node, peers: int, seconds: float) -> str:
    """Opens the peers, sends as much as each connection accepts, and waits."""
    request = b"GET /try HTTP/1.1\r\nHost: localhost\r\n\r\n"
    requests = request * (REQUEST_BYTES // len(request))
    unsent: dict[socket.socket, memoryview] = {}
    for _ in range(peers):
        peer = socket.create_connection((node.host, node.port), DEADLINE_SECONDS)
        peer.setblocking(False)
        unsent[peer] = memoryview(requests)
    with Sampler(node) as usage:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for peer, rest in unsent.items():
                try:
                    unsent[peer] = rest[peer.send(rest):] if rest else rest
                except (BlockingIOError, ConnectionError):
                    pass
            time.sleep(SAMPLE_SECONDS)
    closed = sum(is_disconnected(peer) for peer in unsent)
    return f"{usage}; {closed} of {peers} connections closed"


def measure_silent(node: Node, peers: int, seconds: float) -> str:
    """Subscribes the peers, then emits to all of them while none reads."""
    token = node.api_token("connect")
    clients = [connect(node, token, number) for number in range(peers)]
    for client in clients:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SILENT_RECEIVE_BYTES)
        news = {"eventType": "CUSTOM_WS_EVENTS", "apiName": "news"}
        client.sendall(frame({"objType": "REGISTER", "onEvents": [news]}))
    wait_for_metric(node, "carillon_subscriptions", 2 * peers)
    with Sampler(node) as usage:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            node.emit("news", "x" * SILENT_EMIT_BYTES)
            time.sleep(SAMPLE_SECONDS)
    closed = peers - node.metric("carillon_sessions")
    return f"{usage} ({usage.kernel / peers / 1e3:.0f} KB a peer); {closed:.0f} of {peers} sessions closed"


class Reader:
    """A client of the burst: connects, subscribes, then counts the bytes that the node sends it."""

    def __init__(self, node: Node, token: str, number: int):
        self.socket = connect(node, token, number)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BURST_RECEIVE_BYTES)
        entries = [entry(f"all-{place}") for place in range(BURST_SUBSCRIPTIONS - 1)]
        for place, one in enumerate(entries):
            # Different conditions that all match, so that each subscription gets its own notification.
            one["condition"]["criteria"] = {"sequence": {"$gte": -place}}
        self.socket.sendall(frame({"objType": "REGISTER", "onEvents": entries}))
        self.received = 0
        self.is_open = True

    def read(self) -> int:
        try:
            count = len(self.socket.recv(1 << 20))
        except BlockingIOError:
            return 0
        except ConnectionError:
            count = 0
        self.is_open = count > 0
        self.received += count
        return count


def read_all(readers: list[Reader], expected: int) -> float:
    """Reads until each reader has its bytes or is closed, or no byte arrives. Returns the time of the last byte."""
    selector = selectors.DefaultSelector()
    for reader in readers:
        reader.socket.setblocking(False)
        reader.received = 0
        selector.register(reader.socket, selectors.EVENT_READ, reader)
    start = last = time.monotonic()
    waiting = len(readers)
    while waiting and time.monotonic() - last < BURST_IDLE_SECONDS:
        for key, _ in selector.select(SAMPLE_SECONDS):
            reader = key.data
            if reader.read():
                last = time.monotonic()
            if not reader.is_open or reader.received >= expected:
                selector.unregister(reader.socket)
                waiting -= 1
    return last - start


def measure_burst(node: Node, peers: int, _seconds: float) -> str:
    """Emits once. Each peer receives the event once per subscription."""
    token = node.api_token("connect")
    readers = [Reader(node, token, number) for number in range(peers)]
    wait_for_metric(node, "carillon_subscriptions", BURST_SUBSCRIPTIONS * peers)
    for reader in readers:
        reader.socket.setblocking(False)
        while reader.read():
            pass
    expected = (BURST_SUBSCRIPTIONS - 1) * BURST_EMIT_BYTES
    with Sampler(node) as usage:
        emitter = threading.Thread(target=emit_burst, args=(node,))
        emitter.start()
        seconds = read_all(readers, expected)
        emitter.join()
    end = time.monotonic() + CLOSE_SECONDS
    closed = 0
    while closed == 0 and any(reader.received < expected for reader in readers) and time.monotonic() < end:
        time.sleep(SAMPLE_SECONDS)
        closed = peers - node.metric("carillon_sessions")
    received = sum(reader.received for reader in readers)
    whole = sum(reader.received >= expected for reader in readers)
    return (
        f"{usage}; {received / 1e6:.0f} of {expected * peers / 1e6:.0f} MB delivered in {seconds:.1f} s, "
        f"{whole} of {peers} sessions received everything, {closed:.0f} closed"
    )


def emit_burst(node: Node) -> None:
    try:
        node.emit("order-updates", {"sequence": 1, "text": "x" * BURST_EMIT_BYTES})
    except urllib.error.URLError as error:
        print(f"the emit failed: {error}")


ROWS = {"pipelining": measure_pipelining, "silent": measure_silent, "burst": measure_burst}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", choices=ROWS, action="append", help="measure only this row (repeatable)")
    parser.add_argument("--peers", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the rows pipelining and silent last")
    arguments = parser.parse_args()
    allow_open_files(arguments.peers + SPARE_FILES)
    for row in arguments.row or ROWS:
        with Node() as node:
            print(f"{row}: {ROWS[row](node, arguments.peers, arguments.seconds)}", flush=True)


if __name__ == "__main__":
    main()
