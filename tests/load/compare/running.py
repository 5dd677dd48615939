"""A server while it is measured: started on a fresh folder, with a Redis of its own where it wants one, and ended."""

import http.client
import os
import pathlib
import socket
import subprocess
import tempfile
import time

from peers import Peer, Start, Unavailable

DEADLINE_SECONDS = 60.0


class Running:
    """A started server and its Redis; `with` ends both."""

    def __init__(self, peer: Peer, port: int, redis_port: int):
        self.peer, self.port, self.redis_port = peer, port, redis_port
        self.processes: list[subprocess.Popen] = []

    def __enter__(self) -> "Running":
        self.temporary = tempfile.TemporaryDirectory(prefix="carillon-compare-")
        self.folder = pathlib.Path(self.temporary.name)
        try:
            if self.peer.has_redis:
                self._spawn(Start(["redis-server", "--port", str(self.redis_port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"], {}, self.folder))
                self._await(self.redis_port)
            self.pid = self._spawn(self.peer.start(self.port, self.folder, self.redis_port))
            self._await(self.port)
            self._await_ready()
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
        log = open(self.folder / f"{len(self.processes)}.log", "wb")
        process = subprocess.Popen(start.command, env=os.environ | start.environment, cwd=start.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        self.processes.append(process)
        return process.pid

    def _await_ready(self) -> None:
        request = self.peer.ready_request()
        end = time.monotonic() + DEADLINE_SECONDS
        while request and time.monotonic() < end:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
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
        log = (self.folder / f"{len(self.processes) - 1}.log").read_text(errors="replace")[-1000:]
        raise Unavailable(f"{self.peer.label} does not listen: {log}")
