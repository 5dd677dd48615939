"""The rows about frames: RFC 6455 §5 (framing), §7 (closing) and §8 (UTF-8), and the limits of the node.

A row is the bytes to send after a valid handshake, and the answers in order. If no answer is a close, the session must
stay open: the next frame of the server must be the answer to a ping. If one is a close, the connection must end after
it.
"""

import dataclasses
import json
import socket
import struct
from collections.abc import Callable

from raw_websocket import (
    BINARY,
    CLOSE,
    CONTINUATION,
    KEY,
    PING,
    PONG,
    TEXT,
    Broken,
    Connection,
    Frame,
    as_json,
    close,
    frame,
    header,
    text,
)

# An answer: the description of the expected frame, and its test.
Answer = tuple[str, Callable[[Frame], bool]]


def pong(payload: bytes) -> Answer:
    return f"pong {payload[:20]!r}", lambda got: got == Frame(PONG, payload)


def closed(*codes: int | None) -> Answer:
    """A close frame with one of the codes (None: without a code)."""
    bodies = {None if code is None else struct.pack("!H", code) for code in codes}

    def is_right(got: Frame) -> bool:
        return got.opcode == CLOSE and (got.payload[:2] or None) in bodies and is_utf8(got.payload[2:])

    return "close " + " or ".join(map(str, codes)), is_right


def is_utf8(data: bytes) -> bool:
    return data.decode(errors="ignore").encode() == data


def error(code: str, kind="UNKNOWN") -> Answer:
    def is_right(got: Frame) -> bool:
        body = as_json(got.payload) if got.opcode == TEXT else {}
        return body.get("type") == kind and [each.get("code") for each in body.get("errors", [])] == [code]

    return f"{kind} with {code}", is_right


def registered(guid: str) -> Answer:
    def is_right(got: Frame) -> bool:
        body = as_json(got.payload) if got.opcode == TEXT else {}
        return (body.get("type"), body.get("guid")) == ("REGISTER", guid) and "response" in body

    return f"REGISTER with guid {guid}", is_right


@dataclasses.dataclass
class Frames:
    name: str
    sent: list[bytes]
    answers: list[Answer]
    bytewise: bool = False
    # The client shuts down its side of the connection without a close frame.
    half_close: bool = False

    def run(self, node) -> None:
        with Connection(node.port) as connection:
            open_session(connection, node)
            for data in self.sent:
                (connection.send_bytewise if self.bytewise else connection.send)(data)
            for what, is_right in self.answers:
                got = connection.read_frame()
                if not is_right(got):
                    raise Broken(f"{got}, not {what}")
            if self.half_close:
                connection.socket.shutdown(socket.SHUT_WR)
                connection.read_to_end()
            elif any(what.startswith("close") for what, _ in self.answers):
                # A server that fails the connection may wait for this frame or not.
                connection.send(close(1000))
                expect_end(connection)
            else:
                expect_open_session(connection)


def open_session(connection: Connection, node) -> None:
    query = f"x-am-authorization={node.api_token}&x-am-user-authorization={node.user_token}"
    connection.send(
        f"GET /ws?{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    if (status := connection.read_response().status) != 101:
        raise Broken(f"the handshake was answered {status}")
    first = connection.read_frame()
    if as_json(first.payload).get("type") != "CONNECTED":
        raise Broken(f"{first}, not CONNECTED")


def expect_end(connection: Connection) -> None:
    if rest := connection.read_to_end():
        raise Broken(f"{rest[:80]!r} came after the close")


def expect_open_session(connection: Connection) -> None:
    connection.send(frame(PING, b"last"))
    got = connection.read_frame()
    if got != Frame(PONG, b"last"):
        raise Broken(f"{got}, but only the last pong was expected")


def message_in_fragments(*pieces: bytes) -> list[bytes]:
    last = len(pieces) - 1
    return [frame(CONTINUATION if at else TEXT, piece, fin=at == last) for at, piece in enumerate(pieces)]


def register(guid: str) -> bytes:
    return json.dumps({"objType": "REGISTER", "guid": guid, "onEvents": []}, ensure_ascii=False).encode()


def one_close_each(name: str, codes, answer: Callable[[int], Answer]) -> list[Frames]:
    return [Frames(f"{name}: {code}", [close(code)], [answer(code)]) for code in codes]


def first_fragment(payload=b"{") -> bytes:
    return frame(TEXT, payload, fin=False)


def framing_rows() -> list[Frames]:
    whole, crab = register("gé🦀"), register("gé🦀").index("🦀".encode())
    first, second = whole[: crab + 2], whole[crab + 2 :]
    return [
        # §5.1: masks
        *(
            Frames(
                f"a frame that is not masked is refused: opcode {opcode}",
                [frame(opcode, b"", masked=False)],
                [closed(1002)],
            )
            for opcode in (TEXT, PING, CLOSE)
        ),
        Frames("a mask of zeros is valid", [header(PING, 2)[:2] + bytes(4) + b"hi"], [pong(b"hi")]),
        # §5.2: bits, opcodes, lengths
        *(
            Frames(f"a reserved bit is refused: RSV{n}", [text("{}", reserved=bit)], [closed(1002)])
            for n, bit in ((1, 0x40), (2, 0x20), (3, 0x10))
        ),
        *(
            Frames(f"a reserved bit is refused on a ping: RSV{n}", [frame(PING, b"", reserved=bit)], [closed(1002)])
            for n, bit in ((1, 0x40), (2, 0x20), (3, 0x10))
        ),
        *(
            Frames(f"a reserved opcode is refused: {opcode}", [frame(opcode, b"")], [closed(1002)])
            for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)
        ),
        Frames("a length below 126 in two bytes is refused", [header(TEXT, 2, width=2) + b"xx"], [closed(1002)]),
        Frames(
            "a length below 65536 in eight bytes is refused", [header(TEXT, 200, width=8) + bytes(200)], [closed(1002)]
        ),
        Frames("a length with its top bit is refused", [header(TEXT, 1 << 63, width=8)], [closed(1002)]),
        # §5.4: fragments
        Frames("fragments are joined", message_in_fragments(whole[:5], whole[5:9], whole[9:]), [registered("gé🦀")]),
        Frames(
            "fragments of one byte are joined",
            message_in_fragments(*(bytes([byte]) for byte in whole)),
            [registered("gé🦀")],
        ),
        Frames("empty fragments are joined", message_in_fragments(b"", whole, b"", b""), [registered("gé🦀")]),
        Frames(
            "fragments may come byte by byte",
            message_in_fragments(whole[:5], whole[5:]),
            [registered("gé🦀")],
            bytewise=True,
        ),
        Frames("a continuation of nothing is refused", [frame(CONTINUATION, b"x")], [closed(1002)]),
        Frames("a fragment that continues nothing is refused", [frame(CONTINUATION, b"x", fin=False)], [closed(1002)]),
        Frames(
            "a continuation behind a whole message is refused",
            [text(whole), frame(CONTINUATION, b"")],
            [registered("gé🦀"), closed(1002)],
        ),
        Frames("a text inside a message is refused", [first_fragment(), text("{}")], [closed(1002)]),
        Frames("a binary inside a message is refused", [first_fragment(), frame(BINARY, b"")], [closed(1002)]),
        Frames("a new message inside a message is refused", [first_fragment(), first_fragment()], [closed(1002)]),
        Frames(
            "a ping between fragments is answered before the message",
            [frame(TEXT, first, fin=False), frame(PING, b"between"), frame(CONTINUATION, second)],
            [pong(b"between"), registered("gé🦀")],
        ),
        Frames(
            "a ping inside a message without an end is answered",
            [first_fragment(), frame(PING, b"now")],
            [pong(b"now")],
        ),
        Frames("a close inside a message is answered", [first_fragment(), close(1000)], [closed(1000)]),
        # §5.5: control frames
        Frames("a pong repeats the payload of the ping", [frame(PING, bytes(range(125)))], [pong(bytes(range(125)))]),
        Frames("an empty ping is answered", [frame(PING)], [pong(b"")]),
        Frames("a ping byte by byte is answered", [frame(PING, b"slowly")], [pong(b"slowly")], bytewise=True),
        Frames(
            "ten pings in one segment are answered in order",
            [b"".join(frame(PING, bytes([n])) for n in range(10))],
            [pong(bytes([n])) for n in range(10)],
        ),
        Frames("an unsolicited pong is ignored", [frame(PONG, b"unsolicited"), frame(PONG)], []),
        *(
            Frames(
                f"a control frame of 126 bytes is refused: opcode {opcode}", [frame(opcode, bytes(126))], [closed(1002)]
            )
            for opcode in (PING, PONG, CLOSE)
        ),
        Frames("a control frame with a 64-bit length is refused", [header(PING, 1 << 16)], [closed(1002)]),
        *(
            Frames(
                f"a control frame in fragments is refused: opcode {opcode}",
                [frame(opcode, b"", fin=False)],
                [closed(1002)],
            )
            for opcode in (PING, PONG, CLOSE)
        ),
        Frames(
            "a frame before a broken frame is answered",
            [frame(PING, b"good") + frame(3, b"")],
            [pong(b"good"), closed(1002)],
        ),
        Frames(
            "a frame after a broken frame is not answered",
            [frame(3, b"") + frame(PING, b"late") + text(whole)],
            [closed(1002)],
        ),
    ]


def text_rows() -> list[Frames]:
    bad = [
        ("a lone continuation byte", b"\x80"),
        ("an overlong slash", b"\xc0\xaf"),
        ("a surrogate", b"\xce\xba\xed\xa0\x80"),
        ("a code point above the highest", b"\xf4\x90\x80\x80"),
        ("a byte that is never used", b"a\xff"),
        ("a character without its end", b"\xe2\x82"),
    ]
    whole = register("🦀")
    crab = whole.index("🦀".encode())
    return [
        *(Frames(f"text that is not UTF-8 is refused: {what}", [text(data)], [closed(1007)]) for what, data in bad),
        *(
            Frames(
                f"fragments that are not UTF-8 are refused: {what}",
                message_in_fragments(b"a", data[:1], data[1:]),
                [closed(1007)],
            )
            for what, data in bad
        ),
        Frames("a bad fragment is refused before the message ends", [first_fragment(b"\xff")], [closed(1007)]),
        Frames(
            "a bad byte is refused before its frame ends",
            [header(TEXT, 100) + frame(TEXT, b"ab\xff")[6:]],
            [closed(1007)],
        ),
        Frames(
            "a message that ends inside a character is refused", message_in_fragments(b"\xe2", b"\x82"), [closed(1007)]
        ),
        *(
            Frames(
                f"a character split between fragments is text: after byte {at}",
                message_in_fragments(whole[: crab + at], whole[crab + at :]),
                [registered("🦀")],
            )
            for at in (1, 2, 3)
        ),
        Frames("an empty text is an error and the session stays open", [text("")], [error("INVALID_JSON")]),
        Frames("a text that is not JSON is an error and the session stays open", [text("{")], [error("INVALID_JSON")]),
        Frames(
            "an unknown message is an error and the session stays open",
            [text('{"objType":"DANCE"}')],
            [error("UNKNOWN_MESSAGE")],
        ),
        Frames("a text with a zero byte is an error and the session stays open", [text("\0")], [error("INVALID_JSON")]),
    ]


def close_rows() -> list[Frames]:
    good = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999]
    bad = [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535]
    return [
        *one_close_each("a close is answered with its code", good, closed),
        *one_close_each("a code that must not be sent is refused", bad, lambda _: closed(1002)),
        Frames("a close without a code is answered", [close()], [closed(None, 1000)]),
        Frames("a close with the longest reason is answered", [close(1000, b"r" * 123)], [closed(1000)]),
        Frames("a close byte by byte is answered", [close(1000, b"bye")], [closed(1000)], bytewise=True),
        Frames("half a close code is refused", [frame(CLOSE, b"\x03")], [closed(1002)]),
        Frames("a reason that is not UTF-8 is refused", [close(1000, b"\xce\xba\xff")], [closed(1007)]),
        Frames("a reason that ends inside a character is refused", [close(1000, b"\xe2\x82")], [closed(1007)]),
        Frames(
            "frames after a close are not answered",
            [close(1000) + frame(PING, b"late") + text(register("late"))],
            [closed(1000)],
        ),
        Frames("a broken frame after a close is ignored", [close(1001) + frame(3, b"", masked=False)], [closed(1001)]),
        Frames(
            "a message before a close is answered",
            [text(register("last")) + close(1000)],
            [registered("last"), closed(1000)],
        ),
        Frames("a second close is not answered", [close(1000) + close(1000)], [closed(1000)]),
        Frames("a client that closes without a close frame is disconnected", [], [], half_close=True),
        Frames(
            "a client that closes inside a frame is disconnected", [header(TEXT, 100) + b"half"], [], half_close=True
        ),
    ]


def limit_rows(limit: int) -> list[Frames]:
    half = limit // 2
    return [
        Frames("a message at the limit is accepted", [text(b" " * limit)], [error("INVALID_JSON")]),
        Frames("a message over the limit is refused at its header", [header(TEXT, limit + 1)], [closed(1009)]),
        Frames("the longest length is refused at its header", [header(TEXT, (1 << 63) - 1)], [closed(1009)]),
        Frames(
            "fragments up to the limit are accepted",
            message_in_fragments(b" " * half, b" " * (limit - half)),
            [error("INVALID_JSON")],
        ),
        Frames(
            "fragments over the limit in total are refused at the header",
            [frame(TEXT, b" " * half, fin=False), header(CONTINUATION, limit - half + 1)],
            [closed(1009)],
        ),
        Frames(
            "a client that sends on over the limit receives the close",
            [header(TEXT, 1 << 20) + b" " * (1 << 18)],
            [closed(1009)],
        ),
        Frames("a binary message is refused", [frame(BINARY, b"\x00\xff")], [closed(1003)]),
        Frames("an empty binary message is refused", [frame(BINARY)], [closed(1003)]),
        Frames(
            "a binary message in fragments is refused",
            [frame(BINARY, b"a", fin=False), frame(CONTINUATION, b"b")],
            [closed(1003)],
        ),
    ]


def frame_rows(node) -> list[Frames]:
    return framing_rows() + text_rows() + close_rows() + limit_rows(node.message_limit)
