// A WebSocket with the library `ws`. Reads fail at the deadline.

import WebSocket from 'ws';
import { DEADLINE } from './node.mjs';

export class Client {
  #messages = [];
  #readers = [];

  /** Opens a WebSocket. Messages are queued until they are read. */
  constructor(node, path, protocols = [], options = {}) {
    this.socket = new WebSocket(`ws://${node.address}${path}`, protocols, options);
    this.socket.on('message', (data) => this.#on_message(JSON.parse(data.toString())));
    this.closed = new Promise((resolve) => this.socket.on('close', (code) => resolve(code)));
    this.failed = new Promise((_, reject) => {
      this.socket.on('error', reject);
      this.socket.on('close', (code) => reject(new Error(`the session was closed with ${code}`)));
    });
    this.failed.catch(() => {});
  }

  /** Opens a session with the tokens in headers and reads CONNECTED. */
  static async connect(node, tokens) {
    const client = new Client(node, '/ws', [], { headers: tokens });
    const connected = await client.read();
    if (connected.type !== 'CONNECTED') throw new Error(JSON.stringify(connected));
    return client;
  }

  #on_message(message) {
    const reader = this.#readers.shift();
    if (reader) reader(message);
    else this.#messages.push(message);
  }

  /** The next message. */
  read() {
    if (this.#messages.length) return this.#messages.shift();
    const next = new Promise((resolve) => this.#readers.push(resolve));
    return before_deadline(Promise.race([next, this.failed]), 'a message');
  }

  /** Sends a message and reads the next one. */
  ask(message) {
    this.socket.send(JSON.stringify(message));
    return this.read();
  }

  /** Registers one entry, which must be valid. Returns its event id. */
  async subscribe(event, criteria) {
    const condition = { conditionType: 'RESPONSE', criteria };
    const entry = { eventType: 'CUSTOM_WS_EVENTS', apiName: event, condition };
    const answer = await this.ask({ objType: 'REGISTER', onEvents: [entry] });
    return answer.response.validOnEvents[0].eventId;
  }

  /** The close code of the session. */
  close_code() {
    return before_deadline(this.closed, 'the close');
  }
}

function before_deadline(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not arrive`)), DEADLINE);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
