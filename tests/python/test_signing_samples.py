"""Runs the samples of docs/signing-tokens.md, and connects to the real program with the tokens that they print."""

import asyncio
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import websockets
from node import DEADLINE_SECONDS, ROOT, Node

PAGE = ROOT / "docs" / "signing-tokens.md"
# Compiling a sample can take minutes.
RUN_SECONDS = 180.0
COMMANDS = {
    "sign.mjs": ["node", "sign.mjs"],
    "sign.py": ["python3", "sign.py"],
    "sign.go": ["go", "run", "sign.go"],
    "Sign.java": ["java", "Sign.java"],
    "sign.php": ["php", "sign.php"],
    "sign.rb": ["ruby", "sign.rb"],
}
# Debian has no runtime for C#. tests/run does not install a JDK, but the Java sample runs if there is one.
NOT_RUN = {"Sign.cs"}
OPTIONAL = {"Sign.java"}


def samples() -> dict[str, str]:
    """Each sample of the page by its file name, which follows the language of its fence."""
    fences = re.findall(r"^```\w+ ([Ss]ign\.\w+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return dict(fences)


class SigningSamples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = cls.enterClassContext(Node())
        folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="carillon-samples-"))
        cls.folder = pathlib.Path(folder)
        for name, text in samples().items():
            (cls.folder / name).write_text(text)

    def token(self, name: str, user: str) -> str:
        key_id, secret = self.node.keys["user"]
        keys = {"CARILLON_USER_KEY_ID": key_id, "CARILLON_USER_KEY": secret.hex()}
        environment = os.environ | keys | {"GOCACHE": str(self.folder / "go-cache")}
        done = subprocess.run(
            [*COMMANDS[name], user],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    async def connected(self, token: str) -> dict:
        headers = {"x-am-authorization": self.node.api_token("connect"), "x-am-user-authorization": token}
        address = f"ws://{self.node.host}:{self.node.port}/ws"
        async with websockets.connect(address, additional_headers=headers) as socket:
            return json.loads(await asyncio.wait_for(socket.recv(), DEADLINE_SECONDS))

    def test_the_page_has_a_sample_for_each_language_and_no_other(self):
        self.assertEqual(set(samples()), set(COMMANDS) | NOT_RUN)

    def test_a_token_of_each_sample_is_accepted_by_a_node_and_lives_15_to_20_minutes(self):
        for name, command in COMMANDS.items():
            with self.subTest(name):
                if name in OPTIONAL and not shutil.which(command[0]):
                    self.skipTest(f"{command[0]} is not installed")
                token = self.token(name, "u42")
                claims = token.split(".")[1]
                claims = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
                self.assertEqual((claims["project"], claims["sub"]), ("demo", "u42"))
                self.assertTrue(840 <= claims["exp"] - time.time() <= 1201, claims)
                self.assertEqual(asyncio.run(self.connected(token))["type"], "CONNECTED")

    def test_a_sample_with_another_secret_is_refused(self):
        token = self.token("sign.py", "u42")
        text, signature = token.rsplit(".", 1)
        forged = f"{text}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"
        answer = asyncio.run(self.connected(forged))
        self.assertEqual((answer["type"], answer["errors"][0]["code"]), ("TOKEN_VALIDATION", "TOKEN_INVALID"))
