// The try page: connect, register, emit, watch. It subscribes with the JavaScript client that applications use:
// try/client.js is the build of clients/js and is never changed here.
//
// Imports run one way: this file → views → state. State modules (connection, emit_history, json, tokens) do not touch the
// page. A view imports state, and of the other views only page.js and log.js. This file connects the views.

import { connect, disconnect } from "./try/connection.js";
import { showClosed, showConnectionProblem, showFacts, showState } from "./try/connection_view.js";
import { copy, emit, showCurl, showDelivery } from "./try/emit.js";
import { assignToEmit } from "./try/emit_history.js";
import { LoggedSocket } from "./try/logged_socket.js";
import { clearNotifications, showGap, showNotification } from "./try/notifications.js";
import { element, showProblem } from "./try/page.js";
import { register } from "./try/subscriptions.js";
import { claims, hasTokens, storeTokens, storedTokens, takeTokensFromAddress, tokens } from "./try/tokens.js";

function useTokens(api, user) {
  storeTokens(api, user);
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

function openConnection() {
  showProblem("connect-problem", "");
  connect(new URL("ws", location.href.split("#")[0]), LoggedSocket, { onState: showState, onProblem: showConnectionProblem });
}

function closeConnection() {
  disconnect();
  showClosed();
}

function onConnect(event) {
  event.preventDefault();
  useTokens(element("api-token").value, element("user-token").value);
  openConnection();
}

function onRegister(event) {
  event.preventDefault();
  register({ onNotification, onGap: showGap });
}

function onNotification(number, meta) {
  const delivery = assignToEmit(number, meta.event);
  showNotification(number, meta, delivery);
  if (delivery) showDelivery(delivery);
}

/** Needs no click: the client asks for new tokens before the old ones end. */
function onNewTokens() {
  storeTokens(element("api-token").value, element("user-token").value);
  showProblem("connect-problem", "");
  showFacts();
}

function onForget() {
  closeConnection();
  useTokens("", "");
  element("api-token").focus();
}

/** An address with new tokens, pasted into an open page, loads nothing: only the fragment changes. */
function onNewFragment() {
  const given = takeTokensFromAddress();
  if (!given) return;
  useTokens(given.api, given.user);
  fillExamples();
  openConnection();
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
  element("disconnect").onclick = closeConnection;
  element("forget").onclick = onForget;
  element("register-form").onsubmit = onRegister;
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
  if (hasTokens()) openConnection();
}

start();
