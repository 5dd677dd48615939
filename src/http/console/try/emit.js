// Emits with the HTTP call that a backend makes. Shows the answer and how long the notifications took.

import { subscriptionCount } from "./connection.js";
import { isNewest, rememberEmit } from "./emit_history.js";
import { shortened } from "./json.js";
import { logFrame } from "./log.js";
import { announce, bringIntoView, element, jsonField, showProblem } from "./page.js";
import { project, tokens, withoutTokens } from "./tokens.js";

const QUIET_MILLISECONDS = 1000; // after so long without a notification, the page says why

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

/** Emits the event of the form. */
export async function emit(event) {
  event.preventDefault();
  showProblem("emit-problem", "");
  try {
    const body = emitBody();
    const sent = rememberEmit(element("emit-name").value);
    logFrame("out", `POST ${emitPath().pathname} ${body}`);
    element("emit-delivered").textContent = "";
    showAnswer(await post(body));
    bringIntoView(element("emit-answer"), ...(sent.receivers.size > 0 ? [element("notifications").firstElementChild] : []));
    setTimeout(() => sayQuiet(sent), QUIET_MILLISECONDS);
  } catch (error) {
    element("emit-answer").hidden = true;
    showProblem("emit-problem", error instanceof TypeError ? "The node can't be reached." : error.message);
    bringIntoView(element("emit-problem"));
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
  announce("answer", `The emit was answered with ${status}.`);
}

/** Shows that a notification answered the newest emit. */
export function showDelivery({ milliseconds, receivers, isNewest }) {
  if (!isNewest) return;
  const count = receivers === 1 ? "one subscription" : `${receivers} subscriptions`;
  element("emit-delivered").textContent = `Delivered to ${count} of this page, ${milliseconds.toFixed(1)} ms after the click.`;
}

/** Says why no notification came for an emit. */
function sayQuiet(sent) {
  if (!isNewest(sent) || sent.receivers.size > 0 || !element("emit-status").classList.contains("good")) return;
  element("emit-delivered").textContent = reasonForSilence();
}

function reasonForSilence() {
  if (/"duplicate":\s*true/.test(element("emit-body").textContent)) return "This key was used before: the event was not delivered again.";
  return `Accepted. ${subscriptionCount() === 0 ? "This page has no subscription." : "No subscription of this page matched."}`;
}

/** Shows the emit of the form as a command. */
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

/** Copies a text and says `done`, if the browser allows it. */
export async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    element("copied").textContent = done;
  } catch {
    getSelection().selectAllChildren(element("curl"));
    element("copied").textContent = "This browser does not let this page copy. Select the text yourself.";
  }
}
