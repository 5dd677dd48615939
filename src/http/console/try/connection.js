// The client of this tab and its subscriptions. This module does not touch the page: try.js passes in the socket class and
// the functions that show a state. The client reconnects by itself.

import { Carillon } from "./client.js";
import { tokens } from "./tokens.js";

let carillon = null;
let refusedTokens = ""; // the tokens that the node refused, as JSON
let refusal; // the error that the node gave for them

const subscriptions = new Set();

/** Whether there is a client. It may be connecting or waiting to reconnect. */
export const hasClient = () => carillon !== null;

/** The client's state; an empty object without a client. */
export const connectionState = () => carillon?.state ?? {};

/** The node's error for the last tokens that it refused. */
export const lastRefusal = () => refusal;

/** Whether a disconnect means that the node, or the browser's socket, refused the tokens. */
export const isRefusal = ({ closeCode, error }) => closeCode === 4401 || error?.code === "SOCKET_FAILED";

/** Closes the current client and makes one with the tokens of this tab. */
export function connect(address, WebSocket, { onState, onProblem }) {
  disconnect();
  refusedTokens = "";
  const made = new Carillon(address, { tokens: freshTokens, WebSocket });
  carillon = made;
  made.on("state", (state) => {
    if (made !== carillon) return;
    if (state.status === "disconnected") onDisconnected(state);
    onState(state);
  });
  made.on("problem", (problem) => { if (made === carillon) onProblem(problem); });
  onState(made.state);
}

/** Closes the client. */
export function disconnect() {
  const leaving = carillon;
  carillon = null;
  leaving?.close();
}

/** Subscribes. The subscription outlives connections: the client registers it again. */
export function subscribe(event, options) {
  const subscription = carillon.subscribe(event, options);
  subscriptions.add(subscription);
  for (const end of ["ended", "refused"]) subscription.on(end, () => subscriptions.delete(subscription));
  return subscription;
}

/** How many subscriptions this page has. */
export const subscriptionCount = () => subscriptions.size;

/** This page cannot renew tokens: a person types them in. Tokens that the node refused are not sent again. */
function freshTokens() {
  return JSON.stringify(tokens) === refusedTokens ? null : { ...tokens };
}

function onDisconnected({ reason, willRetry }) {
  if (!willRetry) carillon = null;
  if (!isRefusal(reason)) return;
  refusedTokens = JSON.stringify(tokens);
  if (reason.error && reason.error.code !== "NO_TOKENS") refusal = reason.error;
}
