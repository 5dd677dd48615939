#!/usr/bin/env python3
"""Runs a command with a fresh node. PORT, API_TOKEN and USER_TOKEN in the command become the node's port and tokens.

    tests/python/with_node.py tests/python/rfc6455_table.py --port PORT --api-token API_TOKEN --user-token USER_TOKEN

Exits with the exit code of the command, or with 1 if the node has ended. NAME=VALUE before the command are settings of
the node, such as limits__emit_bytes=1024.
"""

import subprocess
import sys

from node import Node


def main() -> int:
    words = sys.argv[1:]
    first = next((at for at, word in enumerate(words) if "=" not in word), len(words))
    if first == len(words):
        sys.exit(__doc__)
    settings = dict(word.split("=", 1) for word in words[:first])
    with Node(**settings) as node:
        values = {"PORT": str(node.port), "API_TOKEN": node.api_token(), "USER_TOKEN": node.user_token("u1")}
        outcome = subprocess.run([sys.executable, *(values.get(word, word) for word in words[first:])])
        if node.process.poll() is not None:
            print(f"the node ended with {node.process.returncode}", file=sys.stderr)
            return 1
        return outcome.returncode


if __name__ == "__main__":
    sys.exit(main())
