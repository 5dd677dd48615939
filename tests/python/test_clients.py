"""Tests the real program with the Python library `websockets`, an independent client."""

import asyncio
import json
import unittest
import urllib.parse

import websockets
from node import DEADLINE_SECONDS, Node


class Client:
    """A WebSocket. Reads fail at the deadline."""

    def __init__(self, socket: websockets.ClientConnection):
        self.socket = socket

    @classmethod
    async def connect(cls, node: Node, path: str = "/ws", **options: object) -> "Client":
        client = cls(await websockets.connect(f"ws://{node.host}:{node.port}{path}", **options))
        connected = await client.read()
        assert connected["type"] == "CONNECTED", connected
        return client

    async def read(self) -> dict:
        return json.loads(await asyncio.wait_for(self.socket.recv(), DEADLINE_SECONDS))

    async def ask(self, **message: object) -> dict:
        await self.socket.send(json.dumps(message))
        return await self.read()

    async def subscribe(self, event: str, criteria: dict) -> str:
        condition = {"conditionType": "RESPONSE", "criteria": criteria}
        entry = {"eventType": "CUSTOM_WS_EVENTS", "apiName": event, "condition": condition}
        answer = await self.ask(objType="REGISTER", onEvents=[entry])
        return answer["response"]["validOnEvents"][0]["eventId"]

    async def close_code(self) -> int | None:
        await asyncio.wait_for(self.socket.wait_closed(), DEADLINE_SECONDS)
        return self.socket.close_code


class Clients(unittest.IsolatedAsyncioTestCase):
    def node(self, **settings: object) -> Node:
        return self.enterContext(Node(**settings))

    async def test_tokens_are_taken_from_headers_query_and_subprotocol(self):
        node = self.node()
        tokens = node.tokens()
        offered = ["carillon.v1", "api." + tokens["x-am-authorization"], "user." + tokens["x-am-user-authorization"]]
        ways = [
            ("/ws", {"additional_headers": tokens}),
            ("/?" + urllib.parse.urlencode(tokens), {}),
            ("/ws", {"subprotocols": offered}),
        ]
        for path, options in ways:
            client = await Client.connect(node, path, **options)
            self.assertEqual(client.socket.subprotocol, "carillon.v1" if "subprotocols" in options else None)
            await client.socket.close()
            self.assertEqual(client.socket.close_code, 1000)

    async def test_a_matching_emit_is_delivered_until_the_subscription_ends(self):
        node = self.node()
        client = await Client.connect(node, additional_headers=node.tokens())
        own = await client.subscribe("orders", {"recipientId": "u42", "total": {"$gte": 100}})
        rest = await client.subscribe("orders", {"recipientId": {"$ne": "u42"}})
        for recipient, total, event_id in [("u42", 99, None), ("u42", 100, own), ("u43", 1, rest)]:
            data = {"recipientId": recipient, "total": total}
            answer = await asyncio.to_thread(node.emit, "orders", data)
            self.assertTrue(answer["success"], answer)
            if event_id:
                message = await client.read()
                self.assertEqual(message["type"], "NOTIFICATION")
                self.assertEqual((message["response"]["eventId"], message["response"]["eventData"]), (event_id, data))
        answer = await client.ask(objType="UNREGISTER", onEvents=[{"eventId": own}])
        self.assertEqual(answer["response"], {"validOnEvents": [{"eventId": own}], "invalidOnEvents": []})
        for recipient in ["u42", "u44"]:
            await asyncio.to_thread(node.emit, "orders", {"recipientId": recipient, "total": 100})
        self.assertEqual((await client.read())["response"]["eventData"]["recipientId"], "u44")
        await client.socket.close()

    async def test_tokens_expire_with_4401_and_a_refresh_prevents_it(self):
        node = self.node(auth__leeway_seconds=0)
        short = node.tokens(seconds=3)
        refreshed = await Client.connect(node, additional_headers=short)
        expiring = await Client.connect(node, additional_headers=short)
        answer = await refreshed.ask(objType="REFRESH", tokens=node.tokens())
        self.assertGreater(answer["response"]["expiresAt"], 0)
        self.assertEqual(await expiring.close_code(), 4401)
        await refreshed.subscribe("orders", {"a": 1})
        await refreshed.socket.close()

    async def test_a_bad_token_is_reported_before_the_close(self):
        node = self.node()
        tokens = node.tokens() | {"x-am-user-authorization": "nope"}
        async with websockets.connect(f"ws://{node.host}:{node.port}/ws", additional_headers=tokens) as socket:
            message = json.loads(await asyncio.wait_for(socket.recv(), DEADLINE_SECONDS))
            self.assertEqual(message["type"], "TOKEN_VALIDATION")
            self.assertEqual(message["errors"][0]["code"], "TOKEN_INVALID")
            await asyncio.wait_for(socket.wait_closed(), DEADLINE_SECONDS)
            self.assertEqual(socket.close_code, 4401)

    async def test_an_offered_compression_is_declined(self):
        node = self.node()
        client = await Client.connect(node, additional_headers=node.tokens(), compression="deflate")
        self.assertEqual(client.socket.protocol.extensions, [])
        await client.socket.close()

    async def test_a_stopping_node_closes_with_1001_and_exits_cleanly(self):
        node = self.node()
        clients = [await Client.connect(node, additional_headers=node.tokens()) for _ in range(5)]
        node.stop()
        for client in clients:
            self.assertEqual(await client.close_code(), 1001)
        self.assertEqual(await asyncio.to_thread(node.exit_code), 0)
