// The view of the subscriptions. They outlive connections: the client registers them again.

import { subscribe } from "./connection.js";
import { valueOf } from "./json.js";
import { element, jsonField, rowOf, showProblem } from "./page.js";

let lastNumber = 0;

/** Subscribes with the values of the form. Notifications and gaps go to the listeners. */
export function register(listeners) {
  showProblem("register-problem", "");
  try {
    const name = element("register-name").value;
    const criteria = objectField("criteria", "The condition");
    const select = objectField("select", "The selection");
    const getEventData = element("get-event-data").checked;
    const options = { condition: criteria && valueOf(criteria), select: select && valueOf(select), getEventData };
    const details = [criteria ?? "everything", select && `select ${select}`, !getEventData && "without event data"];
    show(subscribe(name, options), details.filter(Boolean).join(" · "), listeners);
  } catch (error) {
    showProblem("register-problem", error.message);
  }
}

function objectField(id, what) {
  const text = jsonField(id, what, false) || undefined;
  if (text && !text.startsWith("{")) throw new Error(`${what} is a JSON object: {…}`);
  return text;
}

/** Shows a subscription until it ends. */
function show(subscription, details, { onNotification, onGap }) {
  const number = ++lastNumber;
  const row = addRow(subscription, number, details);
  const showState = () => {
    row.querySelector(".registration").textContent = subscription.state;
    row.querySelector(".registration").classList.toggle("good", subscription.state === "registered");
  };
  let received = 0;
  subscription.on("registering", showState);
  subscription.on("registered", showState);
  subscription.on("notification", (_, meta) => {
    row.querySelector(".received-count").textContent = `${received += 1} received`;
    onNotification(number, meta);
  });
  subscription.on("gap", (reason) => onGap(number, reason));
  subscription.on("ended", () => removeRow(row));
  subscription.on("refused", ({ code, message }) => {
    removeRow(row);
    showProblem("register-problem", `${code}: ${message}`);
  });
  showState();
}

function addRow(subscription, number, details) {
  const row = rowOf("subscription-template");
  row.querySelector(".name").textContent = subscription.event;
  row.querySelector(".number").textContent = `#${number}`;
  row.querySelector(".criteria").textContent = details;
  const button = row.querySelector(".unregister");
  button.setAttribute("aria-label", `Unregister ${subscription.event}, #${number}`);
  button.onclick = () => subscription.unsubscribe();
  element("subscriptions").append(row);
  element("subscriptions-title").hidden = false;
  return row;
}

function removeRow(row) {
  row.remove();
  element("subscriptions-title").hidden = element("subscriptions").childElementCount === 0;
}
