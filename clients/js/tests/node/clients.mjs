// Clients and emitters for the tests of the built package in Node.

import WebSocket from "ws";
import { Carillon } from "@carillon/client";
import { Emitter } from "@carillon/client/emitter";

/** A client of a broker. It is closed at the end of the test. */
export function clientOf(t, broker, options = {}) {
  const tokens = options.tokens ?? (() => broker.tokens());
  const carillon = new Carillon(broker.url, { WebSocket, ...options, tokens });
  const states = [];
  carillon.on("state", (state) => states.push(state));
  t.after(() => carillon.close());
  return { carillon, states };
}

/** Records the events of a subscription, in order. */
export function recordOf(subscription) {
  const received = [];
  subscription.on("notification", (data) => received.push(data));
  subscription.on("gap", (reason) => received.push(`gap ${reason}`));
  subscription.on("refused", ({ code }) => received.push(`refused ${code}`));
  return received;
}

export function emitterOf(broker) {
  return new Emitter(broker.url, { token: () => broker.tokens().api });
}
