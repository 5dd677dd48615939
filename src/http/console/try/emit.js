// Emits, by the same HTTP call that a backend makes, and how long their notifications take.

import { shortened } from "./json.js";
import { logFrame } from "./log.js";
import { element, jsonField, showProblem } from "./page.js";
import { subscriptionCount } from "./subscriptions.js";
import { project, tokens, withoutTokens } from "./tokens.js";

const QUIET_MILLISECONDS = 1000; // without a notification after an emit: say so
const LATENCY_LIMIT_MILLISECONDS = 10000; // an older emit is not what a notification answers
const EMITS_REMEMBERED = 200;

const emits = []; // newest first: what the latency of a notification is measured from

const emitPath = () => new URL(`api/system-api/${encodeURIComponent(project() || "demo")}/emit-event-ws`, location.href.split("#")[0]);

function emitBody() {
  const key = element("idempotency-key").value.trim();
  const members = [
    `"name":${JSON.stringify(element("emit-name").value)}`,
    `"eventData":${jsonField("event-data", "The event data", true)}`,
    key && `"idempotencyKey":${JSON.stringify(key)}`,
  ];
  return `{${members.filter(Boolean).join(",")}}`;
}

/** Emits what the form says. */
export async function emit(event) {
  event.preventDefault();
  showProblem("emit-problem", "");
  try {
    const body = emitBody();
    const sent = { name: element("emit-name").value, clicked: performance.now(), heard: new Set() };
    emits.unshift(sent);
    emits.length = Math.min(emits.length, EMITS_REMEMBERED);
    logFrame("out", `POST ${emitPath().pathname} ${body}`);
    element("emit-told").textContent = "";
    showAnswer(await post(body));
    setTimeout(() => sayQuiet(sent), QUIET_MILLISECONDS);
  } catch (error) {
    element("emit-answer").hidden = true;
    showProblem("emit-problem", error instanceof TypeError ? "The node can't be reached." : error.message);
  }
}

async function post(body) {
  const headers = { "content-type": "application/json", "x-am-authorization": tokens.api };
  const answer = await fetch(emitPath(), { method: "POST", headers, body, credentials: "omit", referrerPolicy: "no-referrer" });
  const text = await answer.text();
  logFrame("in", `${answer.status} ${text}`);
  return { status: answer.status, ok: answer.ok, text, retryAfter: answer.headers.get("retry-after") };
}

function showAnswer({ status, ok, text, retryAfter }) {
  element("emit-status").textContent = retryAfter ? `${status}, retry after ${retryAfter} s` : String(status);
  element("emit-status").className = `badge ${ok ? "good" : "bad"}`;
  element("emit-body").textContent = withoutTokens(shortened(text));
  element("emit-answer").hidden = false;
}

/** Milliseconds since the click that a notification of a subscription most likely answers; null without one. */
export function latency(number, event) {
  const arrived = performance.now();
  const sent = emits.find((one) => one.name === event && !one.heard.has(number));
  if (!sent || arrived - sent.clicked > LATENCY_LIMIT_MILLISECONDS) return null;
  sent.heard.add(number);
  const milliseconds = arrived - sent.clicked;
  if (sent === emits[0]) {
    const times = sent.heard.size === 1 ? "one subscription" : `${sent.heard.size} subscriptions`;
    element("emit-told").textContent = `Told to ${times} of this page, ${milliseconds.toFixed(1)} ms after the click.`;
  }
  return milliseconds;
}

/** Says why nothing came, a while after an emit that nothing answered. */
function sayQuiet(sent) {
  if (sent !== emits[0] || sent.heard.size > 0 || !element("emit-status").classList.contains("good")) return;
  if (/"duplicate":\s*true/.test(element("emit-body").textContent)) element("emit-told").textContent = "The key was used before: not told a second time.";
  else element("emit-told").textContent = subscriptionCount() === 0
    ? "Accepted. This page has no subscription that could be told."
    : "Accepted. No subscription of this page matched, so none was told.";
}

/** Writes the emit of the form as a command. */
export function showCurl() {
  let body;
  try {
    body = emitBody();
  } catch {
    return;
  }
  element("curl").textContent = [
    `curl -s '${emitPath()}' \\`,
    `  -H "x-am-authorization: $API_TOKEN" \\`,
    `  -H 'content-type: application/json' \\`,
    `  -d '${body.replaceAll("'", "'\\''")}'`,
  ].join("\n");
}

/** Copies a text; says `done` where the browser lets it. */
export async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    element("copied").textContent = done;
  } catch {
    getSelection().selectAllChildren(element("curl"));
    element("copied").textContent = "This browser lets no page copy here: select the text yourself.";
  }
}
