// The built package where a server renders pages: no WebSocket, React's server renderer.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

test("a page with a client is rendered without a WebSocket, and the process ends by itself", async (t) => {
  const program = fileURLToPath(new URL("renders.mjs", import.meta.url));
  const child = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
  const [code] = await once(child, "close");
  assert.equal(code, 0);
  assert.deepEqual(output.trim().split("\n"), ["<p>connecting registering</p>", "NO_WEBSOCKET"]);
});
