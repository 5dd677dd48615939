#!/usr/bin/env python3
"""Measures how much memory subscriptions on several nodes add to their Redis.

    tests/memory/redis_subscriptions.py [--subscriptions 100000] [--nodes 4] [--limit 100000]

All subscriptions are on one event, each with its own condition. Each session has 100 of them, the default of
`limits.subscriptions`. Memory is the stable `used_memory` of INFO MEMORY, before (the nodes run without subscriptions)
and after. Exits with 1 if the difference is over the limit in bytes. Needs redis-server. Uses the release build (or
CARILLON_BIN). Standard library only.
"""

import argparse
import contextlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from idle_clients import DEADLINE_SECONDS, SPARE_FILES, Node, allow_open_files, connect, wait_for_metric

SUBSCRIPTIONS_OF_A_SESSION = 100
# How long the script waits before it samples Redis, and how long it samples. Redis keeps the buffers of a connection
# for some seconds after their last use, and each node sends a ping every three seconds.
REST_SECONDS, SAMPLE_SECONDS = 6.0, 10.0


class Redis:
    """A redis-server on a free port, without a disk."""

    def __enter__(self) -> "Redis":
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.folder = tempfile.TemporaryDirectory(prefix="carillon-redis-")
        words = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(words, cwd=self.folder.name, stdout=subprocess.DEVNULL)
        end = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                self.connection = socket.create_connection(("127.0.0.1", self.port), DEADLINE_SECONDS)
                self.answers = self.connection.makefile("rb")
                return self
            time.sleep(0.01)
        self.__exit__()
        raise RuntimeError("redis-server does not listen")

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def info(self, section: str, name: str) -> int:
        """A number from a section of INFO."""
        self.connection.sendall(f"INFO {section}\r\n".encode())
        text = self.answers.read(int(self.answers.readline()[1:]) + 2).decode()
        return next(int(line.partition(":")[2]) for line in text.splitlines() if line.startswith(f"{name}:"))

    def stable_memory(self) -> int:
        """The most frequent value of used_memory. Connection buffers of 20 KB change it for short times."""
        time.sleep(REST_SECONDS)
        end, seen = time.monotonic() + SAMPLE_SECONDS, []
        while time.monotonic() < end:
            seen.append(self.info("memory", "used_memory"))
            time.sleep(0.1)
        return statistics.mode(seen)


def measure(redis: Redis, nodes: list[Node], subscriptions: int) -> int:
    """The bytes that the subscriptions add to Redis."""
    tokens = [node.api_token("connect") for node in nodes]
    before = redis.stable_memory()
    start = time.monotonic()
    sessions = [
        connect(nodes[number % len(nodes)], tokens[number % len(nodes)], number, SUBSCRIPTIONS_OF_A_SESSION)
        for number in range(subscriptions // SUBSCRIPTIONS_OF_A_SESSION)
    ]
    held = [int(node.metric("carillon_subscriptions")) for node in nodes]
    print(f"{sum(held)} subscriptions of {len(sessions)} sessions in {time.monotonic() - start:.1f} s; by node: {held}")
    assert sum(held) == subscriptions, "a subscription is missing"
    after = redis.stable_memory()
    channels, clients = redis.info("stats", "pubsub_channels"), redis.info("clients", "connected_clients")
    counts = f"{channels} channels, {clients} connections, including this one"
    print(f"used_memory: {before} before, {after} after; {counts}")
    for session in sessions:
        session.close()
    return after - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subscriptions", type=int, default=100_000)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--limit", type=int, default=100_000, help="maximum growth of Redis, in bytes")
    arguments = parser.parse_args()
    allow_open_files(arguments.subscriptions // SUBSCRIPTIONS_OF_A_SESSION + SPARE_FILES)
    with Redis() as redis, contextlib.ExitStack() as stack:
        settings = {"bus__kind": "redis", "bus__redis__url": f"redis://127.0.0.1:{redis.port}"}
        nodes = [stack.enter_context(Node(**settings)) for _ in range(arguments.nodes)]
        for node in nodes:
            wait_for_metric(node, "carillon_bus_ready", 1)
        added = measure(redis, nodes, arguments.subscriptions)
    print(f"{added} bytes of Redis for {arguments.subscriptions} subscriptions; the limit is {arguments.limit}")
    sys.exit(added > arguments.limit)


if __name__ == "__main__":
    main()
