// The try page: connect, register, emit, watch. It subscribes with the JavaScript client that applications use:
// try/client.js is its build, made by clients/js and never changed here.
// This file ties the page's buttons to the modules in try/, and fills in what a first minute needs.

import { connect, disconnect, showFacts } from "./try/connection.js";
import { copy, emit, showCurl } from "./try/emit.js";
import { clearNotifications } from "./try/notifications.js";
import { element, showProblem } from "./try/page.js";
import { register } from "./try/subscriptions.js";
import { claims, hasTokens, keepTokens, storedTokens, takeTokensFromAddress, tokens } from "./try/tokens.js";

function useTokens(api, user) {
  keepTokens(api, user);
  element("api-token").value = tokens.api;
  element("user-token").value = tokens.user;
  element("tokens").open = !hasTokens();
  element("forget").hidden = !hasTokens();
  element("emit").disabled = tokens.api === "";
  showFacts();
  showCurl();
}

const recipient = () => JSON.stringify(String(claims(tokens.user).sub ?? "u42"));

function fillEventData(total) {
  element("event-data").value = `{\n  "recipientId": ${recipient()},\n  "order_no": 1001,\n  "status": "SHIPPED",\n  "total": ${total}\n}`;
  element("event-data").removeAttribute("aria-invalid");
  showCurl();
}

function fillExamples() {
  element("criteria").value = `{"recipientId":${recipient()},"total":{"$gte":100}}`;
  fillEventData("129.90");
}

function onConnect(event) {
  event.preventDefault();
  useTokens(element("api-token").value, element("user-token").value);
  connect();
}

/** Without a click: the client asks for them before the old ones end. */
function onNewTokens() {
  keepTokens(element("api-token").value, element("user-token").value);
  showProblem("connect-problem", "");
  showFacts();
}

function onForget() {
  disconnect();
  useTokens("", "");
  element("api-token").focus();
}

/** The address of a fresh block, pasted into a page that is open already, loads nothing: only its fragment is new. */
function onNewFragment() {
  const given = takeTokensFromAddress();
  if (!given) return;
  useTokens(given.api, given.user);
  fillExamples();
  connect();
}

function submitOnControlEnter(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form?.requestSubmit();
}

function start() {
  const { api, user } = takeTokensFromAddress() ?? storedTokens();
  useTokens(api, user);
  fillExamples();
  element("connect-form").onsubmit = onConnect;
  element("connect-form").onchange = onNewTokens;
  element("disconnect").onclick = disconnect;
  element("forget").onclick = onForget;
  element("register-form").onsubmit = register;
  element("emit-form").onsubmit = emit;
  element("emit-form").oninput = showCurl;
  element("fill-matching").onclick = () => fillEventData("129.90");
  element("fill-other").onclick = () => fillEventData("12.50");
  element("copy-curl").onclick = () => copy(element("curl").textContent, "Copied.");
  element("copy-token").onclick = () => copy(tokens.api, "Copied: export API_TOKEN=…");
  element("clear").onclick = clearNotifications;
  element("bell").onanimationend = () => element("bell").classList.remove("rings");
  addEventListener("keydown", submitOnControlEnter);
  addEventListener("hashchange", onNewFragment);
  if (hasTokens()) connect();
}

start();
