// Debian's Firefox, driven by WebDriver BiDi over its own port, without geckodriver.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import WebSocket from "ws";
import { servePage } from "../browser/pages.mjs";
import { until } from "../broker.mjs";

const PROGRAM = process.env.FIREFOX_BIN ?? "/usr/bin/firefox-esr";

/** All hosts but this machine are behind a proxy that does not exist, so the browser sends nothing to other hosts. */
const PREFERENCES = {
  "network.proxy.type": 1,
  "network.proxy.http": "127.0.0.1",
  "network.proxy.http_port": 9,
  "network.proxy.ssl": "127.0.0.1",
  "network.proxy.ssl_port": 9,
  "network.proxy.no_proxies_on": "127.0.0.1",
  "datareporting.policy.dataSubmissionEnabled": false,
};

/** One browser for all tests of a file. */
export function useFirefox() {
  const firefox = new Firefox();
  before(() => firefox.start());
  after(() => firefox.stop());
  return firefox;
}

class Firefox {
  #waiting = new Map();
  #lastId = 0;
  #listeners = new Set();

  async start() {
    this.folder = mkdtempSync(join(tmpdir(), "carillon-firefox-"));
    const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`);
    writeFileSync(join(this.folder, "user.js"), lines.join(""));
    const words = ["--headless", "--no-remote", "--profile", this.folder, "--remote-debugging-port", "0", "about:blank"];
    this.process = spawn(PROGRAM, words, { detached: true, stdio: ["ignore", "ignore", "pipe"] });
    this.exited = once(this.process, "exit");
    let output = "";
    this.process.stderr.on("data", (data) => (output += data));
    const address = () => /WebDriver BiDi listening on (ws:\S+)/.exec(output)?.[1];
    await until(address, 60_000);
    this.socket = new WebSocket(`${address()}/session`);
    this.socket.on("message", (data) => this.#onMessage(JSON.parse(data)));
    await once(this.socket, "open");
    await this.send("session.new", { capabilities: {} });
    await this.send("session.subscribe", { events: ["log.entryAdded"] });
  }

  async stop() {
    this.socket?.terminate();
    if (this.process) process.kill(-this.process.pid, "SIGKILL"); // the group of this browser
    await this.exited;
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }

  send(method, params) {
    const id = ++this.#lastId;
    this.socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** A tab with a client as `window.carillon`. */
  async openPage(t, broker, tokens) {
    const tab = await this.openTab(t, await servePage(t, broker, tokens));
    await until(() => tab.read("window.isReady === true"));
    return tab;
  }

  /** A tab. `errors` collects its errors. */
  async openTab(t, url) {
    const { context } = await this.send("browsingContext.create", { type: "tab" });
    const errors = [];
    const listener = ({ level, text, source }) => source.context === context && level === "error" && !/favicon/.test(text) && errors.push(text);
    this.#listeners.add(listener);
    const close = () => this.send("browsingContext.close", { context });
    t.after(async () => {
      this.#listeners.delete(listener);
      await close().catch(() => {}); // the test may have closed it
    });
    await this.send("browsingContext.navigate", { context, url, wait: "complete" });
    const read = (expression) => this.#evaluate(context, expression);
    return { errors, read, close, setOffline: (isOffline) => this.#setOffline(context, isOffline) };
  }

  /** The value of an expression in a tab, or of its promise. */
  async #evaluate(context, expression) {
    const text = `(async () => JSON.stringify(await (${expression})))()`;
    const { result, exceptionDetails } = await this.send("script.evaluate", { expression: text, target: { context }, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.text);
    return result.type === "undefined" ? undefined : JSON.parse(result.value);
  }

  #setOffline(context, isOffline) {
    return this.send("emulation.setNetworkConditions", { networkConditions: isOffline ? { type: "offline" } : null, contexts: [context] });
  }

  #onMessage({ id, result, error, message, method, params }) {
    if (method === "log.entryAdded") for (const listener of this.#listeners) listener(params);
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) waiting?.reject(new Error(`${error}: ${message}`));
    else waiting?.resolve(result);
  }
}
