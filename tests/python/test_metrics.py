"""Checks `/metrics` with promtool and with the strict OpenMetrics parser of Prometheus's Python client."""

import asyncio
import shutil
import subprocess
import unittest
import urllib.request

from node import DEADLINE_SECONDS, Node
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from test_clients import Client


def page(node: Node, accept: str) -> str:
    request = urllib.request.Request(f"http://{node.host}:{node.port}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=DEADLINE_SECONDS) as answer:
        assert answer.headers["Content-Type"].startswith(accept), answer.headers["Content-Type"]
        return answer.read().decode()


class Metrics(unittest.IsolatedAsyncioTestCase):
    async def node_with_traffic(self) -> Node:
        """A node with a session, a delivered emit and one that matches no condition."""
        node = self.enterContext(Node())
        client = await Client.connect(node, additional_headers=node.tokens())
        self.addAsyncCleanup(client.socket.close)
        await client.subscribe("orders", {"recipientId": "u42"})
        for recipient in ["u43", "u42"]:
            await asyncio.to_thread(node.emit, "orders", {"recipientId": recipient})
        self.assertEqual((await client.read())["type"], "NOTIFICATION")
        return node

    async def test_promtool_finds_nothing_to_say_about_prometheus_text(self):
        promtool = shutil.which("promtool")
        self.assertIsNotNone(promtool, "promtool is missing: tests/run --only install")
        text = await asyncio.to_thread(page, await self.node_with_traffic(), "text/plain")
        command = [promtool, "check", "metrics"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=DEADLINE_SECONDS)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    async def test_openmetrics_text_is_valid_and_shows_the_traffic(self):
        text = await asyncio.to_thread(page, await self.node_with_traffic(), "application/openmetrics-text")
        families = {family.name: family for family in text_string_to_metric_families(text)}
        self.assertTrue(all(family.documentation for family in families.values()))
        accepted = {"outcome": "accepted"}
        [emits] = [sample for sample in families["carillon_emits"].samples if sample.labels == accepted]
        self.assertEqual((emits.name, emits.value), ("carillon_emits_total", 2))
        [sessions] = families["carillon_sessions"].samples
        self.assertEqual(sessions.value, 1)
        self.assertEqual(families["carillon_build"].type, "info")


if __name__ == "__main__":
    unittest.main()
