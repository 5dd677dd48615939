"""The rows about the opening handshake: RFC 6455 §4.2, §9.1 and §11.3.

`Handshake.sent` is a complete request. `{path}` in it becomes `/ws` with both tokens in the query.
"""

import dataclasses
import re
from collections.abc import Callable

from raw_websocket import KEY, PING, PONG, TEXT, Broken, Connection, Response, accept, as_json, frame

# Not a WebSocket upgrade (426), or a malformed one (400). Rows that list both accept either.
REFUSED = {400, 426}


@dataclasses.dataclass
class Handshake:
    name: str
    sent: str
    # Accepted statuses.
    status: set[int]
    # A further check of the response and the connection after it.
    check: Callable[[Response, Connection], None] | None = None
    # Bytes sent together with the request.
    trailing: bytes = b""
    bytewise: bool = False

    def run(self, node) -> None:
        query = f"x-am-authorization={node.api_token}&x-am-user-authorization={node.user_token}"
        request = self.sent.replace("{path}", "/ws?" + query).replace("{query}", query)
        with Connection(node.port) as connection:
            data = request.encode("latin-1") + self.trailing
            (connection.send_bytewise if self.bytewise else connection.send)(data)
            response = connection.read_response()
            if response.status not in self.status:
                raise Broken(f"status {response.status}, not {sorted(self.status)}")
            if response.status == 101:
                check_switching(response)
                if self.check is None:
                    connected(response, connection)
            if self.check:
                self.check(response, connection)


def check_switching(response: Response) -> None:
    """§4.2.2: the headers of every 101, without an extension."""
    if (response.value("upgrade") or "").lower() != "websocket":
        raise Broken("a 101 without Upgrade: websocket")
    if "upgrade" not in (response.value("connection") or "").lower().replace(" ", "").split(","):
        raise Broken("a 101 without Connection: Upgrade")
    if response.values("sec-websocket-accept") != [accept()]:
        raise Broken(f"Sec-WebSocket-Accept is {response.values('sec-websocket-accept')}")
    if response.values("sec-websocket-extensions"):
        raise Broken("the answer names an extension")
    if response.values("content-length") or response.values("transfer-encoding"):
        raise Broken("a 101 announces a body")


def message(connection: Connection, kind: str) -> dict:
    received = connection.read_frame()
    if received.opcode != TEXT or as_json(received.payload).get("type") != kind:
        raise Broken(f"{received}, not {kind}")
    return as_json(received.payload)


def connected(_: Response, connection: Connection) -> None:
    """Checks the first message of a session."""
    body = message(connection, "CONNECTED").get("response", {})
    if body.get("connected") is not True or not body.get("sessionId"):
        raise Broken(f"unexpected CONNECTED: {body}")


def pong_follows(response: Response, connection: Connection) -> None:
    connected(response, connection)
    received = connection.read_frame()
    if (received.opcode, received.payload) != (PONG, b"trailing"):
        raise Broken(f"{received}, not the pong")


def names_version_13(response: Response, _: Connection) -> None:
    if response.value("sec-websocket-version") != "13":
        raise Broken(f"Sec-WebSocket-Version is {response.value('sec-websocket-version')}, not 13")


def ends_after_one_answer(_: Response, connection: Connection) -> None:
    # The body of the answer may name HTTP/1.1: only a status line is another answer.
    if re.search(rb"HTTP/1\.\d \d{3}", connection.read_to_end()):
        raise Broken("the request after a refused upgrade was answered")


def token_refused(_: Response, connection: Connection) -> None:
    errors = message(connection, "TOKEN_VALIDATION").get("errors")
    if not errors or not errors[0].get("code", "").startswith("TOKEN_") or not errors[0].get("message"):
        raise Broken(f"unexpected errors: {errors}")
    received = connection.read_frame()
    if str(received).split()[:2] != ["close", "4401"]:
        raise Broken(f"{received}, not close 4401")


def has_subprotocol(protocol: str | None) -> Callable[[Response, Connection], None]:
    """Checks that the answer names this subprotocol once, or none."""

    def check(response: Response, connection: Connection) -> None:
        expected = [] if protocol is None else [protocol]
        if response.values("sec-websocket-protocol") != expected:
            raise Broken(f"Sec-WebSocket-Protocol is {response.values('sec-websocket-protocol')}, not {expected}")
        connected(response, connection)

    return check


def is_json(response: Response, _: Connection) -> None:
    if not (response.value("content-type") or "").startswith("application/json"):
        raise Broken(f"Content-Type is {response.value('content-type')}")


def upgrade(start="GET {path} HTTP/1.1", *more: str, **changed: str | None) -> str:
    """A valid request with changed header lines (None: removed) and additional ones at the end."""
    lines = {
        "Host": "127.0.0.1",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": KEY,
        "Sec-WebSocket-Version": "13",
    }
    lines |= {name.replace("_", "-"): value for name, value in changed.items()}
    kept = [f"{name}: {value}" for name, value in lines.items() if value is not None]
    return "\r\n".join([start, *kept, *more, "", ""])


def with_names(change: Callable[[str], str]) -> str:
    """A valid request with changed header names."""
    start, *lines = upgrade().split("\r\n")
    changed = [change(name) + colon + value for name, colon, value in (line.partition(":") for line in lines)]
    return "\r\n".join([start, *changed])


GET = "GET {path} HTTP/1.1"
NEXT_REQUEST = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def handshake_rows(node) -> list[Handshake]:
    tokens = f"api.{node.api_token}, user.{node.user_token}"
    headers = (f"x-am-authorization: {node.api_token}", f"x-am-user-authorization: {node.user_token}")
    row = Handshake
    return [
        row("a valid request is answered 101", upgrade(), {101}),
        row("a valid request on / is answered 101", upgrade("GET /?{query} HTTP/1.1"), {101}),
        row("tokens may be in headers", upgrade("GET /ws HTTP/1.1", *headers), {101}),
        row("a request may arrive byte by byte", upgrade(), {101}, bytewise=True),
        row("header names may be in lower case", with_names(str.lower), {101}),
        row("header names may be in upper case", with_names(str.upper), {101}),
        row("header values may be in upper case", upgrade(Upgrade="WEBSOCKET", Connection="UPGRADE"), {101}),
        row("Connection may have several tokens", upgrade(Connection="keep-alive, Upgrade"), {101}),
        row("Connection may have tokens without spaces", upgrade(Connection="keep-alive,upgrade"), {101}),
        row("Connection may have several lines", upgrade(GET, "Connection: Upgrade", Connection="keep-alive"), {101}),
        row("Connection may name Upgrade on its first line", upgrade(GET, "Connection: keep-alive"), {101}),
        row("spaces around the key are ignored", upgrade(Sec_WebSocket_Key=f"  {KEY} "), {101}),
        row("any Origin is accepted by default", upgrade(GET, "Origin: https://example.com"), {101}),
        row(
            "an offered extension is declined",
            upgrade(GET, "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits, x"),
            {101},
        ),
        # §4.2.2: at most one subprotocol, one that was offered.
        row("without an offer no subprotocol is named", upgrade(), {101}, has_subprotocol(None)),
        row(
            "an unknown subprotocol is not named",
            upgrade(GET, "Sec-WebSocket-Protocol: chat, superchat"),
            {101},
            has_subprotocol(None),
        ),
        row(
            "the known subprotocol is named alone",
            upgrade(GET, "Sec-WebSocket-Protocol: chat, carillon.v1"),
            {101},
            has_subprotocol("carillon.v1"),
        ),
        row(
            "subprotocols may have several lines",
            upgrade(GET, "Sec-WebSocket-Protocol: chat", "Sec-WebSocket-Protocol: carillon.v1"),
            {101},
            has_subprotocol("carillon.v1"),
        ),
        row(
            "tokens among the subprotocols are read and not named",
            upgrade("GET /ws HTTP/1.1", f"Sec-WebSocket-Protocol: carillon.v1, {tokens}"),
            {101},
            has_subprotocol("carillon.v1"),
        ),
        row(
            "the subprotocol is named at any position",
            upgrade("GET /ws HTTP/1.1", f"Sec-WebSocket-Protocol: {tokens},carillon.v1"),
            {101},
            has_subprotocol("carillon.v1"),
        ),
        # Bytes after the handshake.
        row(
            "a frame sent together with the handshake is not lost",
            upgrade(),
            {101},
            pong_follows,
            frame(PING, b"trailing"),
        ),
        row(
            "a handshake and a frame byte by byte are one stream",
            upgrade(),
            {101},
            pong_follows,
            frame(PING, b"trailing"),
            True,
        ),
        # §4.2.1: refused requests.
        row("a missing token is answered with a message", upgrade("GET /ws HTTP/1.1"), {101}, token_refused),
        row(
            "a bad token is answered with a message",
            upgrade("GET /ws?x-am-authorization=a.b.c&x-am-user-authorization=d HTTP/1.1"),
            {101},
            token_refused,
        ),
        row(
            "version 8 is answered with the supported version",
            upgrade(Sec_WebSocket_Version="8"),
            {426},
            names_version_13,
        ),
        row(
            "version 7 is answered with the supported version",
            upgrade(Sec_WebSocket_Version="7"),
            {426},
            names_version_13,
        ),
        row(
            "version 14 is answered with the supported version",
            upgrade(Sec_WebSocket_Version="14"),
            {426},
            names_version_13,
        ),
        row("a missing version is refused", upgrade(Sec_WebSocket_Version=None), REFUSED),
        row("a version that is not a number is refused", upgrade(Sec_WebSocket_Version="thirteen"), REFUSED),
        row("a missing key is refused", upgrade(Sec_WebSocket_Key=None), {400}),
        row("an empty key is refused", upgrade(Sec_WebSocket_Key=""), {400}),
        row("a key of 15 bytes is refused", upgrade(Sec_WebSocket_Key="AAAAAAAAAAAAAAAAAAAA"), {400}),
        row("a key of 17 bytes is refused", upgrade(Sec_WebSocket_Key="AAAAAAAAAAAAAAAAAAAAAAA="), {400}),
        row("a key without its padding is refused", upgrade(Sec_WebSocket_Key=KEY.rstrip("=")), {400}),
        row("a key that is not base64 is refused", upgrade(Sec_WebSocket_Key="!!!!!!!!!!!!!!!!!!!!!!=="), {400}),
        row("two keys are refused", upgrade(GET, f"Sec-WebSocket-Key: {KEY}"), {400}),
        row("a missing Host is refused", upgrade(Host=None), {400}),
        row("a missing Upgrade is refused", upgrade(Upgrade=None), REFUSED),
        row("another Upgrade is refused", upgrade(Upgrade="h2c"), REFUSED),
        row("a missing Connection is refused", upgrade(Connection=None), REFUSED),
        row("a Connection without upgrade is refused", upgrade(Connection="keep-alive"), REFUSED),
        row("a Connection that only contains the letters is refused", upgrade(Connection="not-upgrade"), REFUSED),
        row("POST is refused", upgrade("POST {path} HTTP/1.1", Content_Length="0"), REFUSED | {405}),
        row("HEAD is refused", upgrade("HEAD {path} HTTP/1.1"), REFUSED | {405}),
        row("HTTP/1.0 is refused", upgrade("GET {path} HTTP/1.0"), REFUSED | {505}),
        row("another path is not a WebSocket", upgrade("GET /elsewhere?{query} HTTP/1.1"), REFUSED | {404}),
        row("a plain GET of /ws is answered 426", "GET /ws HTTP/1.1\r\nHost: a\r\n\r\n", {426}),
        row("a plain GET of / is answered in JSON", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", {200}, is_json),
        row(
            "nothing after a refused version is answered",
            upgrade(Sec_WebSocket_Version="8"),
            {426},
            ends_after_one_answer,
            NEXT_REQUEST,
        ),
        row(
            "nothing after a refused key is answered",
            upgrade(Sec_WebSocket_Key="short"),
            {400},
            ends_after_one_answer,
            NEXT_REQUEST,
        ),
        row(
            "nothing after a refused path is answered",
            upgrade("GET /elsewhere HTTP/1.1"),
            REFUSED | {404},
            ends_after_one_answer,
            NEXT_REQUEST,
        ),
        row(
            "nothing after a refused method is answered",
            upgrade("POST {path} HTTP/1.1", Content_Length="0"),
            REFUSED | {405},
            ends_after_one_answer,
            NEXT_REQUEST,
        ),
        row("a refused upgrade ends the connection", upgrade(Sec_WebSocket_Key="short"), {400}, ends_after_one_answer),
    ]
