// What the tests of the built package in Node begin with.

import WebSocket from "ws";
import { Carillon } from "@carillon/client";
import { Emitter } from "@carillon/client/emitter";

/** A client of a broker, ended with the test. */
export function clientOf(t, broker, options = {}) {
  const tokens = options.tokens ?? (() => broker.tokens());
  const carillon = new Carillon(broker.url, { WebSocket, ...options, tokens });
  const states = [];
  carillon.on("state", (state) => states.push(state));
  t.after(() => carillon.close());
  return { carillon, states };
}

/** A subscription and what it tells, in order. */
export function recordOf(subscription) {
  const told = [];
  subscription.on("notification", (data) => told.push(data));
  subscription.on("gap", (reason) => told.push(`gap ${reason}`));
  subscription.on("refused", ({ code }) => told.push(`refused ${code}`));
  return told;
}

export function emitterOf(broker) {
  return new Emitter(broker.url, { token: () => broker.tokens().api });
}
