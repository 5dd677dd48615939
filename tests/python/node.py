"""Starts the real program on a free port, signs tokens with its keys, and stops it. Standard library only."""

import base64
import hashlib
import hmac
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 20.0


def program() -> pathlib.Path:
    """The binary under test: CARILLON_BIN, or what `cargo build --release` made."""
    return pathlib.Path(os.environ.get("CARILLON_BIN", ROOT / "target" / "release" / "carillon"))


def encode(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


class Node:
    """A running node on a fresh data folder. Leaving the block of `with Node() as node: …` stops it."""

    def __init__(self, **settings: object):
        self.folder = tempfile.TemporaryDirectory(prefix="carillon-")
        self.settings = {f"CARILLON__{name.upper()}": str(value) for name, value in settings.items()}

    def __enter__(self) -> "Node":
        folder = pathlib.Path(self.folder.name)
        environment = os.environ | self.settings
        environment |= {"CARILLON__HTTP__BIND": "127.0.0.1:0", "CARILLON__DATA__DIR": str(folder)}
        with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as error:
            streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": error}
            self.process = subprocess.Popen([str(program())], env=environment, **streams)
        try:
            self.host, port = self._address(folder).rsplit(":", 1)
            self.port = int(port)
            self.keys = self._keys(folder)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if failure and failure[0]:
            print((pathlib.Path(self.folder.name) / "stderr").read_text(errors="replace"))
        self.folder.cleanup()

    def _address(self, folder: pathlib.Path) -> str:
        end = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            if (folder / "node.address").exists():
                return (folder / "node.address").read_text().strip()
            time.sleep(0.01)
        raise RuntimeError("the node does not listen\n" + (folder / "stderr").read_text(errors="replace"))

    @staticmethod
    def _keys(folder: pathlib.Path) -> dict[str, tuple[str, bytes]]:
        with sqlite3.connect(folder / "carillon.sqlite3") as catalogue:
            rows = catalogue.execute("SELECT key_use, id, secret FROM keys WHERE project = 'demo'").fetchall()
        catalogue.close()
        return {key_use: (key_id, secret) for key_use, key_id, secret in rows}

    def _sign(self, key_use: str, claims: dict) -> str:
        key_id, secret = self.keys[key_use]
        header = {"alg": "HS256", "typ": "JWT", "kid": key_id}
        signed = ".".join(encode(json.dumps(part).encode()) for part in (header, claims))
        return signed + "." + encode(hmac.digest(secret, signed.encode(), hashlib.sha256))

    def api_token(self, *scopes: str) -> str:
        """The token of an application, valid for an hour."""
        claims = {"project": "demo", "sub": "tests", "scope": scopes or ("connect", "emit")}
        return self._sign("api", claims | {"exp": int(time.time()) + 3600})

    def user_token(self, subject: str, seconds: float = 3600) -> str:
        """The token of a user."""
        return self._sign("user", {"project": "demo", "sub": subject, "exp": int(time.time() + seconds)})

    def tokens(self, subject: str = "u1", seconds: float = 3600) -> dict[str, str]:
        """Both tokens, by the name of their header or query parameter."""
        return {
            "x-am-authorization": self.api_token(),
            "x-am-user-authorization": self.user_token(subject, seconds),
        }

    def emit(self, name: str, data: object) -> dict:
        """Emits as a backend does. Returns the answer."""
        request = urllib.request.Request(
            f"http://{self.host}:{self.port}/api/system-api/demo/emit-event-ws",
            data=json.dumps({"name": name, "eventData": data}).encode(),
            headers={"Content-Type": "application/json", "x-am-authorization": self.api_token("emit")},
        )
        with urllib.request.urlopen(request, timeout=DEADLINE_SECONDS) as answer:
            return json.load(answer)

    def metric(self, name: str) -> float:
        """The value of a metric, summed over its labels."""
        with urllib.request.urlopen(f"http://{self.host}:{self.port}/metrics", timeout=DEADLINE_SECONDS) as answer:
            lines = [line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#")]
        return sum(float(value) for series, value in lines if series.split("{")[0] == name)

    def stop(self) -> None:
        """Sends SIGTERM to the node, without waiting for its exit."""
        self.process.send_signal(signal.SIGTERM)

    def exit_code(self) -> int:
        """Waits until the node exits."""
        return self.process.wait(DEADLINE_SECONDS)
