// Starts the real program on a free port, gets tokens from its command line, and stops it.

import { execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The deadline of waits, in milliseconds. */
export const DEADLINE = 20_000;

/** The binary under test: CARILLON_BIN, or the output of `cargo build --release`. */
export const PROGRAM = process.env.CARILLON_BIN ?? join(ROOT, 'target/release/carillon');

/** A running node on a fresh data folder. */
export class Node {
  /** Starts a node and stops it when the test `t` ends. Settings have names such as `SESSION__PING_SECONDS`. */
  static async start(t, settings = {}) {
    const node = new Node();
    node.folder = mkdtempSync(join(tmpdir(), 'carillon-'));
    node.environment = { ...process.env, CARILLON__HTTP__BIND: '127.0.0.1:0', CARILLON__DATA__DIR: node.folder };
    for (const [name, value] of Object.entries(settings)) node.environment[`CARILLON__${name}`] = String(value);
    const output = openSync(join(node.folder, 'output'), 'w');
    node.process = spawn(PROGRAM, { env: node.environment, stdio: ['ignore', output, output] });
    node.exited = once(node.process, 'exit').then(([code]) => code);
    closeSync(output);
    t.after(() => node.end());
    node.address = await node.listening();
    return node;
  }

  async listening() {
    const file = join(this.folder, 'node.address');
    const end = Date.now() + DEADLINE;
    while (Date.now() < end && this.process.exitCode === null) {
      if (existsSync(file)) return readFileSync(file, 'utf8').trim();
      await pause(10);
    }
    throw new Error(`the node does not listen\n${readFileSync(join(this.folder, 'output'), 'utf8')}`);
  }

  async end() {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGKILL');
    await this.exited;
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A token from the command line of the program. */
  token(...words) {
    return execFileSync(PROGRAM, ['token', ...words], { env: this.environment, encoding: 'utf8' }).trim();
  }

  /** Both tokens, by the name of their header or query parameter. */
  tokens(subject = 'u1', ttl = '1h') {
    return {
      'x-am-authorization': this.token('api', '--project', 'demo', '--name', 'tests', '--scope', 'connect,emit'),
      'x-am-user-authorization': this.token('user', '--project', 'demo', '--sub', subject, '--ttl', ttl),
    };
  }

  /** Emits as a backend does. Returns the answer. */
  async emit(tokens, name, eventData) {
    const answer = await fetch(`http://${this.address}/api/system-api/demo/emit-event-ws`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-am-authorization': tokens['x-am-authorization'] },
      body: JSON.stringify({ name, eventData }),
      signal: AbortSignal.timeout(DEADLINE),
    });
    return answer.json();
  }
}
