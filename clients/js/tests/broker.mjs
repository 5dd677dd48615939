// A real node that tests can stop, kill and restart at the same address, and waiting with a deadline.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, openSync, closeSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** Maximum wait of a test for a condition, in milliseconds. */
const DEADLINE = 30_000;

const PROGRAM = process.env.CARILLON_BIN ?? fileURLToPath(new URL("../../../target/release/carillon", import.meta.url));

/** Resolves once `condition` holds. */
export async function until(condition, deadline = DEADLINE) {
  const end = Date.now() + deadline;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`this did not become true: ${condition}`);
    await pause(10);
  }
}

/** The number of subscriptions of a node. */
export async function subscriptionsOf(broker) {
  const text = await (await fetch(`${broker.url}/metrics`)).text();
  return Number(/^carillon_subscriptions (\d+)/m.exec(text)?.[1]);
}

export class Broker {
  #tokens = new Map();

  /**
   * Starts a node on a new data folder. It ends with the test `t`. Settings have names like `SESSION__PING_SECONDS`.
   */
  static async start(t, settings = {}) {
    const broker = new Broker();
    broker.folder = mkdtempSync(join(tmpdir(), "carillon-client-"));
    broker.environment = { ...process.env, CARILLON__DATA__DIR: broker.folder, CARILLON__HTTP__BIND: "127.0.0.1:0" };
    for (const [name, value] of Object.entries(settings)) broker.environment[`CARILLON__${name}`] = String(value);
    t.after(async () => {
      await broker.kill();
      rmSync(broker.folder, { recursive: true, force: true });
    });
    await broker.restart();
    return broker;
  }

  get url() {
    return `http://${this.address}`;
  }

  get port() {
    return Number(this.address.split(":")[1]);
  }

  /** Starts the program, at its previous address if it had one. */
  async restart() {
    const file = join(this.folder, "node.address");
    rmSync(file, { force: true });
    if (this.address) this.environment.CARILLON__HTTP__BIND = this.address;
    const output = openSync(join(this.folder, "output"), "a");
    this.process = spawn(PROGRAM, { env: this.environment, stdio: ["ignore", output, output] });
    closeSync(output);
    this.exited = once(this.process, "exit");
    await until(() => {
      if (this.process.exitCode !== null) throw new Error(readFileSync(join(this.folder, "output"), "utf8"));
      return existsSync(file) && readFileSync(file, "utf8").includes(":");
    });
    this.address = readFileSync(file, "utf8").trim();
  }

  async stop() {
    this.process.kill("SIGTERM");
    await this.exited;
  }

  async kill() {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill("SIGKILL");
    await this.exited;
  }

  /** A token from the command line, beside the running node. */
  token(...words) {
    return execFileSync(PROGRAM, ["token", ...words], { env: this.environment, encoding: "utf8" }).trim();
  }

  /** Both tokens. Long-lived ones are created once. */
  tokens(subject = "u1", ttl = "1h") {
    const key = `${subject} ${ttl}`;
    let tokens = ttl.endsWith("s") ? undefined : this.#tokens.get(key);
    tokens ??= {
      api: this.#tokens.get("api") ?? this.token("api", "--project", "demo", "--name", "tests", "--scope", "connect,emit"),
      user: this.token("user", "--project", "demo", "--sub", subject, "--ttl", ttl),
    };
    this.#tokens.set("api", tokens.api);
    this.#tokens.set(key, tokens);
    return tokens;
  }
}
