// The client of this tab: made with its tokens, its states shown. That it comes back by itself is its own doing.

import { Carillon } from "./client.js";
import { LoggedSocket } from "./logged_socket.js";
import { element, showProblem, textIn } from "./page.js";
import { claims, tokens } from "./tokens.js";

const COUNTED_EVERY_MILLISECONDS = 250;

// docs/protocol.md, "Closing"
const CLOSES = {
  1000: "Goodbye was said.",
  1001: "The node stops, restarts or drains.",
  1002: "The client sent a broken frame. The client must be mended.",
  1003: "The client sent a binary frame. The client must be mended.",
  1006: "The connection broke, or the node refused it: it may be down, full or draining (503), have too many sessions of this user or address (429), or not allow this page's origin (403). A browser is not told which.",
  1007: "The client sent text that is not UTF-8. The client must be mended.",
  1009: "The client sent a message that is too long. The client must be mended.",
  4401: "A token is bad or expired. Connect again with new tokens.",
  4403: "An administrator or the application ended the session.",
  4408: "One side was silent too long.",
  4429: "The client sent too many messages. It comes back slower.",
  4430: "The client was too slow to read.",
};

let carillon = null;
let refused = ""; // the tokens that the node did not take, and what it said of them
let refusal;
let counting;

/** The client, to subscribe with; null without one. */
export const client = () => carillon;

/** Makes a client with the tokens of this tab; closes the one before. */
export function connect() {
  disconnect();
  showProblem("connect-problem", "");
  refused = "";
  const address = new URL("ws", location.href.split("#")[0]);
  const made = new Carillon(address, { tokens: freshTokens, WebSocket: LoggedSocket });
  carillon = made;
  made.on("state", (state) => { if (made === carillon) showState(state); });
  made.on("problem", (problem) => { if (made === carillon) showProblem("connect-problem", adviceOn(problem)); });
  showState(made.state);
}

/** Closes the client. */
export function disconnect() {
  const leaving = carillon;
  carillon = null;
  leaving?.close();
  show("closed", "Not connected");
}

/** This page can't renew tokens: a person puts in others. The same again are none. */
function freshTokens() {
  return JSON.stringify(tokens) === refused ? null : { ...tokens };
}

function adviceOn({ code, message }) {
  if (code !== "TOKENS_NOT_RENEWED" && code !== "NO_TOKENS") return `${code}: ${message}`;
  return `${code}: the tokens end soon. Put new ones into the fields below: the client takes them over without a new connection.`;
}

function showState(state) {
  if (state.status === "connecting") return show("wait", "Connecting …");
  if (state.status === "disconnected") return showDisconnected(state);
  show("open", "Connected");
  showProblem("connect-problem", "");
  showProblem("emit-problem", "");
}

function showDisconnected({ reason, willRetry, retryAt }) {
  const { closeCode, message, error } = reason;
  if (closeCode === 4401 || error?.code === "SOCKET_FAILED") rememberRefusal(error);
  const said = error?.code === "NO_TOKENS" ? refusal : error;
  const next = willRetry ? "The client tries again by itself, then registers again." : "It is over, with its subscriptions: connect again.";
  showProblem("connect-problem", [wordsOf(said), `${closeCode}: ${CLOSES[closeCode] ?? message}`, next].filter(Boolean).join("\n"));
  if (!willRetry) carillon = null;
  show("lost", willRetry ? "Disconnected, will retry" : "Disconnected", retryAt);
}

function rememberRefusal(error) {
  element("tokens").open = true;
  refused = JSON.stringify(tokens);
  if (error && error.code !== "NO_TOKENS") refusal = error;
}

function wordsOf(error) {
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
  element("connect").hidden = carillon !== null;
  element("disconnect").hidden = carillon === null;
  element("register").disabled = carillon === null;
}

function countDown(retryAt) {
  element("countdown").textContent = ` in ${Math.max(0, Math.ceil((retryAt - Date.now()) / 1000))} s`;
}

/** What the tokens claim, and what the node said when it let us in. */
export function showFacts() {
  const api = claims(tokens.api), user = claims(tokens.user);
  const ends = Math.min(...[api.exp, user.exp].filter(Number.isFinite));
  const facts = {
    Project: api.project,
    User: user.sub,
    Application: api.sub && `${api.sub} (${[api.scope ?? []].flat().join(", ")})`,
    "Tokens last until": Number.isFinite(ends) && new Date(ends * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }),
    Node: carillon?.state.node,
    Session: carillon?.state.sessionId,
  };
  const shown = Object.entries(facts).filter(([, value]) => value);
  element("facts").replaceChildren(...shown.map(([name, value]) => {
    const pair = document.createElement("div");
    pair.append(textIn("dt", name), " ", textIn("dd", value));
    return pair;
  }));
  element("facts").hidden = shown.length === 0;
}
