"""The measurements: the options of the load tool for each row, and the figure to read from its result."""

import json
import pathlib
import subprocess
from dataclasses import dataclass
from typing import Callable

from running import Running


@dataclass(frozen=True)
class Sizes:
    """Idle clients, listening clients, seconds per measurement, and seconds of holding idle clients."""

    idle: int
    listening: int
    seconds: float
    hold: float


@dataclass(frozen=True)
class Row:
    """One figure: the options of the load tool, and how to read the figure from its result."""

    key: str
    title: str
    unit: str
    less_is_better: bool
    options: Callable[[Sizes], list[str]]
    figure: Callable[[dict], float | None]
    only_with_redis: bool = False
    # Clients connect to the first node, events are emitted to the last.
    nodes: int = 1


def fill(sizes: Sizes) -> list[str]:
    return ["fill", "-c", str(sizes.idle), "--step", str(sizes.idle), "--hold", str(sizes.hold)]


def listen(*options: str) -> Callable[[Sizes], list[str]]:
    return lambda sizes: ["listen", "-c", str(sizes.listening), "-d", str(sizes.seconds), *options]


def broadcast(window: int) -> Callable[[Sizes], list[str]]:
    # Few connections: over many, events of one audience overtake each other.
    return lambda sizes: listen("-k", str(sizes.listening), "--window", str(window), "--connections", "8")(sizes)


def churn(sizes: Sizes) -> list[str]:
    return ["churn", "-c", "50", "-d", str(sizes.seconds)]


def delivery(percentile: str) -> Callable[[dict], float]:
    return lambda result: result["delivery_us"][percentile]


PACED = listen("-k", "1", "-R", "1000")
NOTIFICATIONS = "notifications_per_server_cpu_second"
ROWS = [
    Row("memory", "process memory of an idle client", "bytes", True, fill, lambda result: result["server_bytes_each"]),
    Row("redis", "Redis memory of a subscription", "bytes", True, fill,
        lambda result: result["redis_bytes_each"], only_with_redis=True),
    Row("connects", "new clients for each server CPU second", "clients", False, churn,
        lambda result: result["clients_per_server_cpu_second"]),
    Row("broadcast", "broadcast notifications for each server CPU second, one by one", "notifications", False,
        broadcast(1), lambda result: result[NOTIFICATIONS]),
    Row("queued", "broadcast notifications for each server CPU second, 64 under way", "notifications", False,
        broadcast(64), lambda result: result[NOTIFICATIONS]),
    Row("person", "one-person notifications for each server CPU second", "notifications", False,
        listen("-k", "1"), lambda result: result[NOTIFICATIONS]),
    Row("p50", "emitted to received at 1,000 a second, p50", "µs", True, PACED, delivery("p50")),
    Row("p99", "emitted to received at 1,000 a second, p99", "µs", True, PACED, delivery("p99")),
    Row("across_p50", "emitted to one node and received from another at 1,000 a second, p50", "µs", True,
        PACED, delivery("p50"), only_with_redis=True, nodes=2),
    Row("across_p99", "emitted to one node and received from another at 1,000 a second, p99", "µs", True,
        PACED, delivery("p99"), only_with_redis=True, nodes=2),
]


def measure(load: pathlib.Path, running: Running, options: list[str]) -> dict:
    """Runs the load tool once. Returns its result, or `{"failed": cause}`."""
    common = ["--protocol", running.peer.protocol, "--target", f"127.0.0.1:{running.ports[0]}"]
    common += ["--data", str(running.folder), "--json", "-"]
    common += [word for pid in running.pids for word in ("--server-pid", str(pid))]
    if len(running.ports) > 1:
        common += ["--emit-target", f"127.0.0.1:{running.ports[-1]}"]
    if options[0] == "fill" and running.peer.has_redis:
        common += ["--redis", f"127.0.0.1:{running.redis_port}"]
    try:
        done = subprocess.run([load, *options, *common], capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return {"failed": "no result within ten minutes"}
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no message"}
    return json.loads(done.stdout)


def problems(result: dict) -> dict[str, int]:
    """The counts that must be 0 in a valid run and are not."""
    counters = result.get("total", {}).get("counters", {})
    names = ("lost", "refused", "failed", "rejected", "unanswered", "duplicates", "gaps")
    found = {name: counters.get(name, 0) for name in names}
    found["missing"] = int(result.get("missing") or 0)
    return {name: count for name, count in found.items() if count}
