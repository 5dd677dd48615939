#!/usr/bin/env python3
"""Measures the kernel memory of one idle client of a node: its socket, file, directory entry and epoll entry.

    tests/memory/kernel_memory.py [--clients 10000] [--subscriptions 1]

Counts the kernel's objects by kind (`/proc/slabinfo`, which only root can read), with the clients minus without. Both
ends of the connections are on this machine and cost the same, so their objects are halved. The epoll entries of the
node are added by their size, because other kinds share their caches. The script also prints the growth of all slabs of
the machine (`/proc/meminfo`, both ends), and the memory of the process per client. Standard library only.
"""

import argparse
import pathlib
import time

from idle_clients import SPARE_FILES, Node, allow_open_files, stable_resident_bytes, connect, wait_for_metric, warm_up

# Objects of both ends of a connection.
BOTH_ENDS = ("TCP", "TCPv6", "sock_inode_cache", "filp", "dentry", "lsm_file_cache", "lsm_inode_cache")
# Objects of the node's end only: `struct epitem`, `struct eppoll_entry` and `struct epitems_head` of a 64-bit kernel.
EPOLL_BYTES = 128 + 64 + 16
# Caches that sockets share with the whole system: shown, not counted.
SHOWN = ("kmalloc-", "skbuff", "nf_conntrack", "tcp_bind", "request_sock")
REST_SECONDS = 2.0


def slabs() -> dict[str, tuple[int, int]]:
    """The number of active objects and the bytes per object, including slab overhead, by kind."""
    lines = pathlib.Path("/proc/slabinfo").read_text().splitlines()[2:]
    rows = (line.split() for line in lines)
    return {row[0]: (int(row[1]), int(row[5]) * 4096 / int(row[4])) for row in rows}


def meminfo(name: str) -> int:
    lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def grown(before: dict, after: dict, kinds: tuple[str, ...], count: int) -> float:
    """Bytes per client of the kinds with these name prefixes."""
    total = 0.0
    for kind, (objects, size) in sorted(after.items()):
        more = objects - before.get(kind, (0, 0))[0]
        if kind.startswith(kinds) and abs(more) > count / 20:
            print(f"  {kind:24} {more / count:6.2f} objects of {size:7.1f} B per client")
            total += more * size / count
    return total


def measure(node: Node, count: int, subscriptions: int) -> None:
    token = node.api_token("connect")
    warm_up(node, token, subscriptions)
    resident, before, slab = stable_resident_bytes(node.process.pid), slabs(), meminfo("Slab")
    clients = [connect(node, token, number, subscriptions) for number in range(count)]
    wait_for_metric(node, "carillon_sessions", count)
    time.sleep(REST_SECONDS)
    process = (stable_resident_bytes(node.process.pid) - resident) / count
    after, slab_after = slabs(), meminfo("Slab")
    print("both ends:")
    both = grown(before, after, BOTH_ENDS, count)
    print("not counted:")
    grown(before, after, SHOWN, count)
    sockstat = pathlib.Path("/proc/net/sockstat").read_text().splitlines()[1]
    print(f"{sockstat}; all slabs of the machine: {(slab_after - slab) / count:.0f} B per client, both ends")
    costs = f"kernel {both / 2 + EPOLL_BYTES:.0f} B, process {process:.0f} B"
    print(f"per client: {costs} ({count} clients with {subscriptions} subscriptions)")
    for client in clients:
        client.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--subscriptions", type=int, default=1, help="subscriptions per client")
    arguments = parser.parse_args()
    allow_open_files(arguments.clients + SPARE_FILES)
    with Node() as node:
        measure(node, arguments.clients, arguments.subscriptions)


if __name__ == "__main__":
    main()
