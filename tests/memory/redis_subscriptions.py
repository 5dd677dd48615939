#!/usr/bin/env python3
"""Measures what subscriptions of one event, held on several nodes, add to the memory of the Redis that the nodes share.

    tests/memory/redis_subscriptions.py [--subscriptions 100000] [--nodes 4] [--limit 100000]

Each session holds 100 subscriptions, the most that `limits.subscriptions` allows by default, each with a condition of
its own. Memory is `used_memory` of INFO MEMORY at rest, before (the nodes run, nobody subscribes) and
after. Ends with exit code 1 if the difference is over the limit, in bytes. Needs redis-server; uses the release build
(or CARILLON_BIN); standard library only.
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
# How long Redis is let come to rest, and then looked at: it keeps the buffers of a connection for some seconds after they
# were last used, and each node asks for a sign of life every three.
REST_SECONDS, LOOK_SECONDS = 6.0, 10.0


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
        """One number of a section of INFO."""
        self.connection.sendall(f"INFO {section}\r\n".encode())
        text = self.answers.read(int(self.answers.readline()[1:]) + 2).decode()
        return next(int(line.partition(":")[2]) for line in text.splitlines() if line.startswith(f"{name}:"))

    def memory_at_rest(self) -> int:
        """What is in use most of the time: buffers of connections come and go by 20 KB, ever at the same numbers."""
        time.sleep(REST_SECONDS)
        end, seen = time.monotonic() + LOOK_SECONDS, []
        while time.monotonic() < end:
            seen.append(self.info("memory", "used_memory"))
            time.sleep(0.1)
        return statistics.mode(seen)


def measure(redis: Redis, nodes: list[Node], subscriptions: int) -> int:
    """Bytes that the subscriptions add to Redis."""
    tokens = [node.api_token("connect") for node in nodes]
    before = redis.memory_at_rest()
    start = time.monotonic()
    sessions = [
        connect(nodes[number % len(nodes)], tokens[number % len(nodes)], number, SUBSCRIPTIONS_OF_A_SESSION)
        for number in range(subscriptions // SUBSCRIPTIONS_OF_A_SESSION)
    ]
    held = [int(node.metric("carillon_subscriptions")) for node in nodes]
    print(f"{sum(held)} subscriptions of {len(sessions)} sessions in {time.monotonic() - start:.1f} s; by node: {held}")
    assert sum(held) == subscriptions, "a subscription is missing"
    after = redis.memory_at_rest()
    channels, clients = redis.info("stats", "pubsub_channels"), redis.info("clients", "connected_clients")
    print(f"used_memory: {before} before, {after} after; {channels} channels, {clients} connections, this one included")
    for session in sessions:
        session.close()
    return after - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subscriptions", type=int, default=100_000)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--limit", type=int, default=100_000, help="bytes that Redis may grow by, at most")
    arguments = parser.parse_args()
    allow_open_files(arguments.subscriptions // SUBSCRIPTIONS_OF_A_SESSION + SPARE_FILES)
    with Redis() as redis, contextlib.ExitStack() as stack:
        settings = {"bus__kind": "redis", "bus__redis__url": f"redis://127.0.0.1:{redis.port}"}
        nodes = [stack.enter_context(Node(**settings)) for _ in range(arguments.nodes)]
        for node in nodes:
            wait_for_metric(node, "carillon_bus_ready", 1)
        added = measure(redis, nodes, arguments.subscriptions)
    print(f"{added} bytes of Redis for {arguments.subscriptions} subscriptions; {arguments.limit} are allowed")
    sys.exit(added > arguments.limit)


if __name__ == "__main__":
    main()
