// The try page: connect, register, emit, watch. No build step, no library; docs/protocol.md is its contract.
//
// JSON that a person wrote or a backend emitted is handled as text, never printed from a parsed value: JavaScript
// would round 9007199254740993 and drop the zero of 129.90. Tokens stay in this tab and are shown nowhere.

const LIST_LIMIT = 200; // notifications and frames that are kept on the page
const SHOWN_CHARACTERS = 16384; // of one notification or frame
const QUIET_MILLISECONDS = 1000; // without a notification after an emit: say so
const LATENCY_LIMIT_MILLISECONDS = 10000; // an older emit is not what a notification answers

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

const element = (id) => document.getElementById(id);
const tokens = { api: "", user: "" };
const subscriptions = new Map(); // eventId -> its row's parts and its count
const emits = []; // newest first: what the latency of a notification is measured from
let socket = null;
let nextGuid = 1;
let notified = 0;

// --- JSON as text -------------------------------------------------------------------------------------------------

const JSON_TOKENS = /"(?:[^"\\]+|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

const isOpening = (token) => token === "{" || token === "[";
const isClosing = (token) => token === "}" || token === "]";
const compact = (json) => (json.match(JSON_TOKENS) ?? []).join("");

/** The text of an object's member, as it stands in valid `json`; null without one. */
function rawMember(json, name) {
  let depth = 0, key = "", start = 0, found = null;
  for (const { 0: token, index } of json.matchAll(JSON_TOKENS)) {
    if (depth === 1 && (token === "," || token === "}")) {
      if (key === name) found = json.slice(start, index).trim();
      start = 0;
    } else if (depth === 1 && token === ":") {
      start = index + 1;
    } else if (depth === 1 && start === 0) {
      key = JSON.parse(token);
    }
    if (isOpening(token)) depth += 1;
    else if (isClosing(token)) depth -= 1;
  }
  return found;
}

/** Valid `json` on indented lines, its values untouched. */
function indented(json) {
  let text = "", depth = 0, previous = "";
  for (const [token] of json.matchAll(JSON_TOKENS)) {
    if (isClosing(token)) depth -= 1;
    const breaks = isOpening(previous) !== isClosing(token) || previous === ",";
    if (breaks && previous !== "") text += "\n" + "  ".repeat(depth);
    text += token === ":" ? ": " : token;
    if (isOpening(token)) depth += 1;
    previous = token;
  }
  return text;
}

const shortened = (text) => text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)} … (${text.length} characters)` : text;
const readable = (json) => json.length > SHOWN_CHARACTERS ? shortened(json) : indented(json);

/** A field's JSON as compact text; "" when empty and not required. Throws what to mend. */
function jsonField(id, what, required) {
  const field = element(id), text = field.value.trim();
  field.removeAttribute("aria-invalid");
  if (text === "" && !required) return "";
  try {
    JSON.parse(text);
    return compact(text);
  } catch (error) {
    field.setAttribute("aria-invalid", "true");
    throw new Error(`${what} is not JSON: ${error.message}`);
  }
}

// --- Tokens -------------------------------------------------------------------------------------------------------

/** What a token claims, unchecked; {} when it can't be read. */
function claims(token) {
  try {
    const bytes = Uint8Array.from(atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    return Object(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return {};
  }
}

const project = () => String(claims(tokens.api).project ?? "");

/** Takes both tokens out of the page's address, so that they stand in no history and no screenshot. */
function takeTokensFromAddress() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (!fragment.has("api") && !fragment.has("user")) return false;
  history.replaceState(null, "", location.pathname + location.search);
  keepTokens(fragment.get("api") ?? "", fragment.get("user") ?? "");
  return true;
}

function keepTokens(api, user) {
  tokens.api = api.trim();
  tokens.user = user.trim();
  element("api-token").value = tokens.api;
  element("user-token").value = tokens.user;
  const none = tokens.api === "" && tokens.user === "";
  try {
    if (none) sessionStorage.removeItem("carillon-tokens");
    else sessionStorage.setItem("carillon-tokens", JSON.stringify(tokens));
  } catch { /* a browser without storage: the tokens last as long as the page */ }
  element("tokens").open = none;
  element("forget").hidden = none;
  element("emit").disabled = tokens.api === "";
  showFacts();
  showCurl();
}

function storedTokens() {
  try {
    return Object(JSON.parse(sessionStorage.getItem("carillon-tokens")));
  } catch {
    return {};
  }
}

/** `text` as it may be shown: without either token. */
function withoutTokens(text) {
  return Object.values(tokens).reduce((rest, token) => token ? rest.replaceAll(token, "…") : rest, text);
}

// --- The connection -----------------------------------------------------------------------------------------------

function connect() {
  disconnect();
  keepTokens(element("api-token").value, element("user-token").value);
  showProblem("connect-problem", "");
  const address = new URL("ws", location.href.split("#")[0]);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const protocols = ["carillon.v1"];
  if (tokens.api) protocols.push(`api.${tokens.api}`);
  if (tokens.user) protocols.push(`user.${tokens.user}`);
  let opened;
  try {
    opened = new WebSocket(address, protocols);
  } catch {
    showProblem("connect-problem", "A token has characters that no token has. Copy it again, whole.");
    return;
  }
  socket = opened;
  showState("wait", "Connecting …");
  logFrame("out", `WebSocket ${address}, subprotocols: carillon.v1${tokens.api && ", api.…"}${tokens.user && ", user.…"}`);
  opened.onmessage = ({ data }) => { if (opened === socket) onFrame(data, performance.now()); };
  opened.onclose = (close) => { if (opened === socket) onClose(close); };
}

function disconnect() {
  if (!socket) return;
  const leaving = socket;
  socket = null;
  leaving.close(1000);
  logFrame("out", "close 1000");
  showClosed("closed", "Not connected");
}

function onClose({ code, reason }) {
  socket = null;
  logFrame("in", `close ${code}${reason && `: ${reason}`}`);
  const meaning = CLOSES[code] ?? "The connection ended.";
  const before = element("connect-problem").textContent;
  showProblem("connect-problem", `${before && `${before}\n`}${code}: ${meaning}`);
  showClosed("lost", `Closed ${code}`);
  if (code === 4401) element("tokens").open = true;
}

function showClosed(state, text) {
  subscriptions.clear();
  element("subscriptions").replaceChildren();
  element("subscriptions-title").hidden = true;
  showState(state, text);
  showFacts();
}

function transmit(text) {
  logFrame("out", text);
  socket.send(text);
}

// --- Frames from the node -----------------------------------------------------------------------------------------

const onType = {
  CONNECTED(message) {
    showState("open", "Connected");
    showFacts(message.response);
  },
  TOKEN_VALIDATION: (message) => showProblem("connect-problem", errorText(message.errors)),
  REGISTER: onRegister,
  UNREGISTER: onUnregister,
  NOTIFICATION: onNotification,
  GAP: onGap,
  UNKNOWN: (message) => showProblem("register-problem", errorText(message.errors)),
};

function onFrame(text, arrived) {
  logFrame("in", text);
  const message = JSON.parse(text);
  if (Object.hasOwn(onType, message.type)) onType[message.type](message, text, arrived);
}

const errorText = (errors) => (errors ?? []).map(({ code, message }) => `${code}: ${message}`).join("\n");

function onRegister({ response, errors }) {
  const invalid = (response?.invalidOnEvents ?? []).map((entry) => entry.error);
  showProblem("register-problem", errorText([...(errors ?? []), ...invalid]));
  for (const entry of response?.validOnEvents ?? []) addSubscription(entry);
}

function addSubscription(entry) {
  const row = element("subscription-template").content.cloneNode(true).firstElementChild;
  const parts = { row, told: row.querySelector(".told"), count: 0 };
  const details = [
    entry.condition ? JSON.stringify(entry.condition.criteria) : "everything",
    entry.select && `select ${JSON.stringify(entry.select)}`,
    entry.getEventData === false && "without event data",
  ];
  row.querySelector(".name").textContent = entry.apiName;
  row.querySelector(".event-id").textContent = `eventId ${entry.eventId}`;
  row.querySelector(".criteria").textContent = details.filter(Boolean).join(" · ");
  const button = row.querySelector(".unregister");
  button.setAttribute("aria-label", `Unregister ${entry.apiName}, eventId ${entry.eventId}`);
  button.onclick = () => transmit(JSON.stringify({ objType: "UNREGISTER", guid: newGuid(), onEvents: [{ eventId: entry.eventId }] }));
  subscriptions.set(entry.eventId, parts);
  element("subscriptions").append(row);
  element("subscriptions-title").hidden = false;
}

function onUnregister({ response, errors }) {
  const invalid = (response?.invalidOnEvents ?? []).map((entry) => entry.error);
  showProblem("register-problem", errorText([...(errors ?? []), ...invalid]));
  for (const { eventId } of response?.validOnEvents ?? []) {
    subscriptions.get(eventId)?.row.remove();
    subscriptions.delete(eventId);
  }
  element("subscriptions-title").hidden = subscriptions.size === 0;
}

function onNotification({ response }, text, arrived) {
  const parts = subscriptions.get(response.eventId);
  if (parts) parts.told.textContent = `told ${parts.count += 1}×`;
  notified += 1;
  const data = rawMember(rawMember(text, "response"), "eventData");
  queueItem({ ...response, data, at: new Date(), latency: latency(response, arrived) });
}

function onGap({ response }) {
  queueItem({ ...response, at: new Date(), gap: response.reason });
}

/** Milliseconds since the click that this notification most likely answers; null without one. */
function latency({ eventId, eventName }, arrived) {
  const emit = emits.find((one) => one.name === eventName && !one.heard.has(eventId));
  if (!emit || arrived - emit.clicked > LATENCY_LIMIT_MILLISECONDS) return null;
  emit.heard.add(eventId);
  const milliseconds = arrived - emit.clicked;
  if (emit === emits[0]) {
    const times = emit.heard.size === 1 ? "one subscription" : `${emit.heard.size} subscriptions`;
    element("emit-told").textContent = `Told to ${times} of this page, ${milliseconds.toFixed(1)} ms after the click.`;
  }
  return milliseconds;
}

// --- What a person asks for ---------------------------------------------------------------------------------------

const newGuid = () => String(nextGuid++);

function register(event) {
  event.preventDefault();
  showProblem("register-problem", "");
  if (!socket) return;
  try {
    const criteria = jsonField("criteria", "The condition", false);
    const select = jsonField("select", "The selection", false);
    const members = [
      '"eventType":"CUSTOM_WS_EVENTS"',
      `"apiName":${JSON.stringify(element("register-name").value)}`,
      criteria && `"condition":{"conditionType":"RESPONSE","criteria":${criteria}}`,
      select && `"select":${select}`,
      `"getEventData":${element("get-event-data").checked}`,
    ];
    transmit(`{"objType":"REGISTER","guid":"${newGuid()}","onEvents":[{${members.filter(Boolean).join(",")}}]}`);
  } catch (error) {
    showProblem("register-problem", error.message);
  }
}

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

async function emit(event) {
  event.preventDefault();
  showProblem("emit-problem", "");
  try {
    const body = emitBody();
    const sent = { name: element("emit-name").value, clicked: performance.now(), heard: new Set() };
    emits.unshift(sent);
    emits.length = Math.min(emits.length, LIST_LIMIT);
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

/** Says why nothing came, a while after an emit that nothing answered. */
function sayQuiet(sent) {
  if (sent !== emits[0] || sent.heard.size > 0 || !element("emit-status").classList.contains("good")) return;
  if (/"duplicate":\s*true/.test(element("emit-body").textContent)) element("emit-told").textContent = "The key was used before: not told a second time.";
  else element("emit-told").textContent = subscriptions.size === 0
    ? "Accepted. This page has no subscription that could be told."
    : "Accepted. No subscription of this page matched, so none was told.";
}

function showCurl() {
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

async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    element("copied").textContent = done;
  } catch {
    getSelection().selectAllChildren(element("curl"));
    element("copied").textContent = "This browser lets no page copy here: select the text yourself.";
  }
}

// --- What is shown ------------------------------------------------------------------------------------------------

function showProblem(id, text) {
  element(id).textContent = withoutTokens(text);
  element(id).hidden = text === "";
}

function showState(state, text) {
  element("state").dataset.state = state;
  element("state").textContent = text;
  element("connect").hidden = state === "open" || state === "wait";
  element("disconnect").hidden = !element("connect").hidden;
  element("register").disabled = state !== "open";
}

/** What the tokens claim, and what the node said when it let us in. */
function showFacts(connected) {
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

function textIn(tag, text, className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

const clock = (date) => `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, "0")}`;

/** Lists are written once per picture, so that thousands of notifications a second don't stop the page. */
const waiting = { notifications: [], log: [] };
let drawing = false;

function queueItem(item) {
  enqueue("notifications", item);
}

function logFrame(direction, text) {
  enqueue("log", { direction, text: withoutTokens(shortened(text)), at: new Date() });
}

function enqueue(list, item) {
  waiting[list].push(item);
  if (waiting[list].length > LIST_LIMIT) waiting[list].shift();
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(draw);
}

function draw() {
  drawing = false;
  prepend("log", waiting.log.splice(0).map(logRow));
  const rows = waiting.notifications.splice(0).map((item) => item.gap ? gapRow(item) : notificationRow(item));
  if (rows.length === 0) return;
  prepend("notifications", rows);
  element("empty").hidden = true;
  element("count").textContent = notified;
  element("bell").classList.add("rings");
  announce();
}

function prepend(id, rows) {
  element(id).prepend(...rows.reverse());
  while (element(id).childElementCount > LIST_LIMIT) element(id).lastElementChild.remove();
}

function notificationRow(item) {
  const row = element("notification-template").content.cloneNode(true).firstElementChild;
  row.querySelector("time").textContent = clock(item.at);
  row.querySelector(".event-id").textContent = `eventId ${item.eventId}`;
  row.querySelector(".name").textContent = item.eventName;
  row.querySelector(".latency").textContent = item.latency === null ? "" : `${item.latency.toFixed(1)} ms after the click`;
  row.querySelector(".data").textContent = item.data === null ? "(without event data)" : readable(item.data);
  return row;
}

function gapRow(item) {
  const row = notificationRow({ ...item, eventName: `GAP: ${item.gap}`, latency: null, data: null });
  row.className = "gap";
  row.querySelector(".data").textContent = "Notifications may have been missed: an application would fetch its state again.";
  return row;
}

function logRow({ direction, text, at }) {
  const row = textIn("li", "", direction);
  row.append(textIn("time", clock(at)), " ", textIn("b", direction === "in" ? "← in" : "→ out"), ` ${text}`);
  return row;
}

/** Tells a screen reader how many there are, at most once a second. */
let announcing = false;
function announce() {
  if (announcing) return;
  announcing = true;
  setTimeout(() => {
    announcing = false;
    element("announcer").textContent = notified === 1 ? "1 notification" : `${notified} notifications`;
  }, 1000);
}

function clearNotifications() {
  notified = 0;
  waiting.notifications.length = 0;
  element("notifications").replaceChildren();
  element("count").textContent = "0";
  element("announcer").textContent = "";
  element("empty").hidden = false;
}

// --- The first minute ---------------------------------------------------------------------------------------------

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

function submitOnControlEnter(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form?.requestSubmit();
}

/** The address of a fresh block, pasted into a page that is open already, loads nothing: only its fragment is new. */
function onNewFragment() {
  if (!takeTokensFromAddress()) return;
  fillExamples();
  connect();
}

function start() {
  const { api = "", user = "" } = storedTokens();
  const given = takeTokensFromAddress() || api !== "" || user !== "";
  if (tokens.api === "" && tokens.user === "") keepTokens(String(api), String(user));
  fillExamples();
  element("connect-form").onsubmit = (event) => { event.preventDefault(); connect(); };
  element("disconnect").onclick = disconnect;
  element("forget").onclick = () => { disconnect(); keepTokens("", ""); element("api-token").focus(); };
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
  if (given) connect();
}

start();
