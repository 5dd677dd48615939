// Tabs of one window, driven without a library: Playwright's tabs are never hidden.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import WebSocket from "ws";
import { until } from "../broker.mjs";

const FLAGS = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
const QUIET = ["--disable-component-update", "--disable-sync", "--remote-debugging-port=0"];

/** Chromium with its own profile folder, driven by its debugging protocol. */
export class Tabs {
  #waiting = new Map();
  #lastId = 0;

  static async open(t, ...flags) {
    const tabs = new Tabs();
    const folder = mkdtempSync(join(tmpdir(), "carillon-tabs-"));
    const browser = process.env.CHROMIUM_BIN ?? "/usr/bin/chromium";
    tabs.process = spawn(browser, [...FLAGS, ...QUIET, ...flags, `--user-data-dir=${folder}`, "about:blank"], { detached: true });
    const exited = once(tabs.process, "exit");
    t.after(async () => {
      tabs.socket?.terminate();
      process.kill(-tabs.process.pid, "SIGKILL"); // the group of this browser
      await exited;
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    });
    let output = "";
    tabs.process.stderr.on("data", (data) => (output += data));
    const address = () => /DevTools listening on (ws:\S+)/.exec(output)?.[1];
    await until(address);
    tabs.socket = new WebSocket(address());
    tabs.socket.on("message", (data) => tabs.#onMessage(JSON.parse(data)));
    await once(tabs.socket, "open");
    return tabs;
  }

  /** Opens a tab in front of the others. */
  async openTab(url) {
    const { targetId } = await this.send("Target.createTarget", { url });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    return { targetId, sessionId };
  }

  show({ targetId }) {
    return this.send("Target.activateTarget", { targetId });
  }

  /** The value of an expression in a tab. */
  async evaluate({ sessionId }, expression) {
    const params = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", params, sessionId);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  send(method, params, sessionId) {
    const id = ++this.#lastId;
    this.socket.send(JSON.stringify({ id, method, params, sessionId }));
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  #onMessage({ id, result, error }) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) waiting?.reject(new Error(error.message));
    else waiting?.resolve(result);
  }
}
