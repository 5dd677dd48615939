"""Runs a server during a measurement: starts its processes on fresh folders, with its own Redis if it uses one, and
stops them."""

import http.client
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from peers import Peer, Start, Unavailable

DEADLINE_SECONDS = 60.0


class Running:
    """The running nodes of a server, one per port, and their Redis. Leaving the `with` block stops them."""

    def __init__(self, peer: Peer, ports: list[int], redis_port: int):
        self.peer, self.ports, self.redis_port = peer, ports, redis_port
        self.pids: list[int] = []
        self.processes: list[subprocess.Popen] = []

    def __enter__(self) -> "Running":
        self.temporary = tempfile.TemporaryDirectory(prefix="carillon-compare-")
        self.root = pathlib.Path(self.temporary.name)
        self.folder = self.root / "node-0"
        self.folder.mkdir()
        try:
            if self.peer.has_redis:
                redis = ["redis-server", "--port", str(self.redis_port), "--bind", "127.0.0.1"]
                self._spawn(Start([*redis, "--save", "", "--appendonly", "no"], {}, self.root))
                self._await(self.redis_port)
            for number, port in enumerate(self.ports):
                folder = self.root / f"node-{number}"
                if number:
                    # All nodes use a copy of the first node's data, mainly its keys.
                    shutil.copytree(self.folder, folder)
                self.pids.append(self._spawn(self.peer.start(port, folder, self.redis_port)))
                self._await(port)
                self._await_ready(port)
            if len(self.ports) > 1:
                time.sleep(self.peer.join_seconds)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.temporary.cleanup()

    def _spawn(self, start: Start) -> int:
        log = open(self.root / f"{len(self.processes)}.log", "wb")
        environment = os.environ | start.environment
        streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        process = subprocess.Popen(start.command, env=environment, cwd=start.folder, **streams)
        log.close()
        self.processes.append(process)
        return process.pid

    def _await_ready(self, port: int) -> None:
        request = self.peer.ready_request()
        end = time.monotonic() + DEADLINE_SECONDS
        while request and time.monotonic() < end:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request(*request, body=b"" if request[0] == "POST" else None)
            if connection.getresponse().status < 300:
                return
            connection.close()
            time.sleep(0.05)
        if request:
            raise Unavailable(f"{self.peer.label} is not ready after a minute")

    def _await(self, port: int) -> None:
        end = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < end and self.processes[-1].poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        log = (self.root / f"{len(self.processes) - 1}.log").read_text(errors="replace")[-1000:]
        raise Unavailable(f"{self.peer.label} does not listen: {log}")
