"""A WebSocket client that sends any bytes and checks every frame of the server.

Standard library only. The client can break every rule of the protocol. The server can't: a masked frame, a reserved
bit, a length in a long form or a fragmented control frame from the server raises `Broken`.
"""

import base64
import dataclasses
import hashlib
import json
import socket
import struct
import time

DEADLINE_SECONDS = 5.0
MASK = b"\x37\xfa\x21\x3d"
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
FIN = 0x80


class Broken(Exception):
    """The server broke a rule, or sent nothing within the deadline."""


def mask(payload: bytes) -> bytes:
    return bytes(byte ^ MASK[at % 4] for at, byte in enumerate(payload))


def header(opcode: int, length: int, *, fin=True, reserved=0, masked=True, width: int | None = None) -> bytes:
    """The header of a frame. `width` is the size of the extended length (0, 2 or 8 bytes), by default the shortest."""
    if width is None:
        width = 0 if length < 126 else 2 if length < 1 << 16 else 8
    first = (FIN if fin else 0) | reserved | opcode
    second = (0x80 if masked else 0) | {0: length, 2: 126, 8: 127}[width]
    extended = {0: b"", 2: struct.pack("!H", length & 0xFFFF), 8: struct.pack("!Q", length)}[width]
    return bytes([first, second]) + extended + (MASK if masked else b"")


def frame(opcode: int, payload: bytes = b"", *, masked=True, **options) -> bytes:
    return header(opcode, len(payload), masked=masked, **options) + (mask(payload) if masked else payload)


def text(message: str | bytes, **options) -> bytes:
    return frame(TEXT, message.encode() if isinstance(message, str) else message, **options)


def close(code: int | None = None, reason: bytes = b"") -> bytes:
    return frame(CLOSE, b"" if code is None else struct.pack("!H", code) + reason)


@dataclasses.dataclass
class Frame:
    opcode: int
    payload: bytes

    def __str__(self) -> str:
        name = {TEXT: "text", BINARY: "binary", CLOSE: "close", PING: "ping", PONG: "pong"}.get(self.opcode, "frame")
        if self.opcode == CLOSE:
            code = struct.unpack("!H", self.payload[:2])[0] if self.payload else "no code"
            return f"close {code} {self.payload[2:].decode(errors='replace')}".rstrip()
        return f"{name} {self.payload[:200]!r}"


@dataclasses.dataclass
class Response:
    status: int
    headers: list[tuple[str, str]]

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name.lower()]

    def value(self, name: str) -> str | None:
        return next(iter(self.values(name)), None)


class Connection:
    """A socket with one deadline for all its reads."""

    def __init__(self, port: int):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.deadline = time.monotonic() + DEADLINE_SECONDS

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Sends. Ignores a server that has already closed, since its answer is checked."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def send_bytewise(self, data: bytes) -> None:
        """Sends each byte in its own segment."""
        for at in range(len(data)):
            self.send(data[at : at + 1])

    def _fill(self) -> bool:
        """Reads more bytes. Returns false at the end of the stream."""
        self.socket.settimeout(max(self.deadline - time.monotonic(), 0.001))
        try:
            more = self.socket.recv(65536)
        except TimeoutError:
            raise Broken(f"nothing received within {DEADLINE_SECONDS:.0f} s (unread: {self.received[:80]!r})") from None
        except ConnectionResetError:
            return False
        self.received += more
        return bool(more)

    def _take(self, count: int) -> bytes:
        while len(self.received) < count:
            if not self._fill():
                raise Broken("the connection ended inside a frame" if self.received else "the connection ended")
        taken, self.received = self.received[:count], self.received[count:]
        return taken

    def read_response(self) -> Response:
        while b"\r\n\r\n" not in self.received:
            if not self._fill():
                raise Broken("the connection ended without a response")
        head, self.received = self.received.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        parts = lines[0].split(" ", 2)
        if not parts[0].startswith("HTTP/1.") or not parts[1].isdigit():
            raise Broken(f"not a response: {lines[0]!r}")
        pairs = [line.partition(":") for line in lines[1:]]
        return Response(int(parts[1]), [(name.lower(), value.strip()) for name, _, value in pairs])

    def read_frame(self) -> Frame:
        first, second = self._take(2)
        if first & 0x70:
            raise Broken(f"a reserved bit is set in {first:#x}")
        if second & 0x80:
            raise Broken("a frame of the server is masked")
        opcode, length, shortest = first & 0xF, second & 0x7F, 0
        if opcode not in (CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG):
            raise Broken(f"a reserved opcode {opcode}")
        if opcode & 0x8 and (not first & FIN or length > 125):
            raise Broken("a control frame is fragmented or too long")
        if length == 126:
            length, shortest = struct.unpack("!H", self._take(2))[0], 126
        elif length == 127:
            length, shortest = struct.unpack("!Q", self._take(8))[0], 1 << 16
        if length < shortest:
            raise Broken("a length is not in its shortest form")
        if not first & FIN or opcode == CONTINUATION:
            raise Broken("the server sent a fragmented message")
        return Frame(opcode, self._take(length))

    def read_to_end(self) -> bytes:
        """Reads until the server closes the connection."""
        while self._fill():
            pass
        return self.received


def accept(key: str = KEY) -> str:
    """The answer to a key (RFC 6455 §4.2.2)."""
    return base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()


def as_json(payload: bytes) -> dict:
    try:
        value = json.loads(payload)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Broken(f"not a JSON object: {payload[:200]!r}")
    return value
