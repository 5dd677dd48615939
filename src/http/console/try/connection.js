// The WebSocket: opened with both tokens as subprotocols, its frames handed to who asked for their type.

import { logFrame } from "./log.js";
import { element, errorText, showProblem, textIn } from "./page.js";
import { claims, tokens } from "./tokens.js";

// docs/protocol.md, "Closing"
const CLOSES = {
  1000: "Closed: goodbye was said.",
  1001: "The node stops, restarts or drains. Connect again in 1 to 5 seconds.",
  1002: "The client sent a broken frame. The client must be mended.",
  1003: "The client sent a binary frame. The client must be mended.",
  1006: "The connection broke, or the node refused it: it may be down, full or draining (503), have too many sessions of this user or address (429), or not allow this page's origin (403). A browser is not told which.",
  1007: "The client sent text that is not UTF-8. The client must be mended.",
  1009: "The client sent a message that is too long. The client must be mended.",
  4401: "A token is bad or expired. Connect again with new tokens.",
  4403: "An administrator or the application ended the session. Don't come back.",
  4408: "The client was silent too long. Connect again.",
  4429: "The client sent too many messages. Connect again, slower.",
  4430: "The client was too slow to read. Connect again.",
};

const handlers = {};
let socket = null;

/** Has `handler(message, text, arrived)` called for each message of a type. "CLOSED", which no node sends, is the end. */
export function on(type, handler) {
  handlers[type] = handler;
}

on("CONNECTED", (message) => {
  showState("open", "Connected");
  showFacts(message.response);
  showProblem("emit-problem", "");
});
on("TOKEN_VALIDATION", (message) => showProblem("connect-problem", errorText(message.errors)));

/** Opens a session with the tokens of this tab; ends the one before. */
export function connect() {
  disconnect();
  showProblem("connect-problem", "");
  const address = new URL("ws", location.href.split("#")[0]);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const protocols = ["carillon.v1"];
  if (tokens.api) protocols.push(`api.${tokens.api}`);
  if (tokens.user) protocols.push(`user.${tokens.user}`);
  try {
    follow(new WebSocket(address, protocols));
  } catch {
    showState("closed", "Not connected");
    element("tokens").open = true;
    return showProblem("connect-problem", "A token has characters that no token has. Copy it again, whole.");
  }
  showState("wait", "Connecting …");
  logFrame("out", `WebSocket ${address}, subprotocols: carillon.v1${tokens.api && ", api.…"}${tokens.user && ", user.…"}`);
}

/** What comes from a socket counts as long as it is the present one. */
function follow(opened) {
  socket = opened;
  opened.onmessage = ({ data }) => { if (opened === socket) onFrame(data, performance.now()); };
  opened.onclose = (close) => { if (opened === socket) onClose(close); };
}

/** Says goodbye. */
export function disconnect() {
  if (!socket) return;
  const leaving = socket;
  socket = null;
  leaving.close(1000);
  logFrame("out", "close 1000");
  end("closed", "Not connected");
}

/** Sends a message. */
export function transmit(text) {
  if (!socket) return;
  logFrame("out", text);
  socket.send(text);
}

function onFrame(text, arrived) {
  logFrame("in", text);
  const message = JSON.parse(text);
  if (Object.hasOwn(handlers, message.type)) handlers[message.type](message, text, arrived);
}

function onClose({ code, reason }) {
  socket = null;
  logFrame("in", `close ${code}${reason && `: ${reason}`}`);
  const before = element("connect-problem").textContent;
  const lines = [before, `${code}: ${CLOSES[code] ?? "The connection ended."}`, end("lost", `Closed ${code}`)];
  showProblem("connect-problem", lines.filter(Boolean).join("\n"));
  if (code === 4401) element("tokens").open = true;
}

/** Shows that the session has ended; answers what ended with it. */
function end(state, text) {
  showState(state, text);
  showFacts();
  return handlers.CLOSED?.();
}

function showState(state, text) {
  element("state").dataset.state = state;
  element("state").textContent = text;
  element("connect").hidden = state === "open" || state === "wait";
  element("disconnect").hidden = !element("connect").hidden;
  element("register").disabled = state !== "open";
}

/** What the tokens claim, and what the node said when it let us in. */
export function showFacts(connected) {
  const api = claims(tokens.api), user = claims(tokens.user);
  const ends = Math.min(...[api.exp, user.exp].filter(Number.isFinite));
  const facts = {
    Project: api.project,
    User: user.sub,
    Application: api.sub && `${api.sub} (${[api.scope ?? []].flat().join(", ")})`,
    "Tokens last until": Number.isFinite(ends) && new Date(ends * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }),
    Node: connected?.node,
    Session: connected?.sessionId,
    "Ping every": connected && `${connected.pingInterval} s`,
  };
  const shown = Object.entries(facts).filter(([, value]) => value);
  element("facts").replaceChildren(...shown.map(([name, value]) => {
    const pair = document.createElement("div");
    pair.append(textIn("dt", name), " ", textIn("dd", value));
    return pair;
  }));
  element("facts").hidden = shown.length === 0;
}
