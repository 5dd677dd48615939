// The view of the connection: its state, its problems, and what the tokens claim.

import { connectionState, hasClient, isRefusal, lastRefusal } from "./connection.js";
import { element, showProblem, textIn } from "./page.js";
import { claims, tokens } from "./tokens.js";

const COUNTED_EVERY_MILLISECONDS = 250;

// docs/protocol.md, "Closing"
const CLOSES = {
  1000: "The connection was closed normally.",
  1001: "The node stops, restarts or drains.",
  1002: "The client sent an invalid frame. Fix the client.",
  1003: "The client sent a binary frame. Fix the client.",
  1006: "The connection broke, or the node refused it: it may be down, full or draining (503), have too many sessions of this user or address (429), or not allow this page's origin (403). The browser does not say which.",
  1007: "The client sent text that is not UTF-8. Fix the client.",
  1009: "The client sent a message that is too long. Fix the client.",
  4401: "A token is invalid or expired. Connect again with new tokens.",
  4403: "An administrator or the application ended the session.",
  4408: "One side was silent for too long.",
  4429: "The client sent too many messages. It reconnects more slowly.",
  4430: "The client was too slow to read.",
};

let counting;

/** Shows that there is no client. */
export function showClosed() {
  show("closed", "Not connected");
}

/** Shows a problem that the connection outlives. */
export function showConnectionProblem({ code, message }) {
  const needsTokens = code === "TOKENS_NOT_RENEWED" || code === "NO_TOKENS";
  const advice = "the tokens end soon. Put new ones into the fields below: the client uses them without a new connection.";
  showProblem("connect-problem", `${code}: ${needsTokens ? advice : message}`);
}

/** Shows a state of the client. */
export function showState(state) {
  if (state.status === "connecting") return show("wait", "Connecting …");
  if (state.status === "disconnected") return showDisconnected(state);
  show("open", "Connected");
  showProblem("connect-problem", "");
  showProblem("emit-problem", "");
}

function showDisconnected({ reason, willRetry, retryAt }) {
  const { closeCode, message, error } = reason;
  if (isRefusal(reason)) element("tokens").open = true;
  const cause = error?.code === "NO_TOKENS" ? lastRefusal() : error;
  const next = willRetry
    ? "The client reconnects and registers again by itself."
    : "The client has stopped and its subscriptions have ended. Connect again.";
  const lines = [describe(cause), `${closeCode}: ${CLOSES[closeCode] ?? message}`, next];
  showProblem("connect-problem", lines.filter(Boolean).join("\n"));
  show("lost", willRetry ? "Disconnected, will retry" : "Disconnected", retryAt);
}

function describe(error) {
  if (error?.code === "SOCKET_FAILED") return "A token has characters that no token has. Copy it again, whole.";
  return error && `${error.code}: ${error.message}`;
}

function show(state, text, retryAt) {
  element("state").dataset.state = state;
  element("state-text").textContent = text;
  clearInterval(counting);
  element("countdown").textContent = "";
  if (retryAt) {
    counting = setInterval(() => countDown(retryAt), COUNTED_EVERY_MILLISECONDS);
    countDown(retryAt);
  }
  showFacts();
  element("connect").hidden = hasClient();
  element("disconnect").hidden = !hasClient();
  element("register").disabled = !hasClient();
}

function countDown(retryAt) {
  element("countdown").textContent = ` in ${Math.max(0, Math.ceil((retryAt - Date.now()) / 1000))} s`;
}

/** Shows what the tokens claim, and the node and session of the connection. */
export function showFacts() {
  const api = claims(tokens.api), user = claims(tokens.user);
  const ends = Math.min(...[api.exp, user.exp].filter(Number.isFinite));
  const facts = {
    Project: api.project,
    User: user.sub,
    Application: api.sub && `${api.sub} (${[api.scope ?? []].flat().join(", ")})`,
    "Tokens last until": Number.isFinite(ends) && new Date(ends * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }),
    Node: connectionState().node,
    Session: connectionState().sessionId,
  };
  const shown = Object.entries(facts).filter(([, value]) => value);
  element("facts").replaceChildren(...shown.map(([name, value]) => {
    const pair = document.createElement("div");
    pair.append(textIn("dt", name), " ", textIn("dd", value));
    return pair;
  }));
  element("facts").hidden = shown.length === 0;
}
