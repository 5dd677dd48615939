// The subscriptions of this page. They outlive connections: the client registers them again.

import { client } from "./connection.js";
import { valueOf } from "./json.js";
import { showGap, showNotification } from "./notifications.js";
import { element, jsonField, rowOf, showProblem } from "./page.js";

const rows = new Set();
let lastNumber = 0;

/** How many there are. */
export const subscriptionCount = () => rows.size;

/** Subscribes to what the form says. */
export function register(event) {
  event.preventDefault();
  showProblem("register-problem", "");
  try {
    const name = element("register-name").value;
    const criteria = objectField("criteria", "The condition");
    const select = objectField("select", "The selection");
    const getEventData = element("get-event-data").checked;
    const wish = { condition: criteria && valueOf(criteria), select: select && valueOf(select), getEventData };
    const details = [criteria ?? "everything", select && `select ${select}`, !getEventData && "without event data"];
    follow(client().subscribe(name, wish), details.filter(Boolean).join(" · "));
  } catch (error) {
    showProblem("register-problem", error.message);
  }
}

function objectField(id, what) {
  const text = jsonField(id, what, false) || undefined;
  if (text && !text.startsWith("{")) throw new Error(`${what} is a JSON object: {…}`);
  return text;
}

/** Shows a subscription for as long as it lives, and what it tells. */
function follow(subscription, details) {
  const number = ++lastNumber;
  const row = addRow(subscription, number, details);
  const showState = () => {
    row.querySelector(".registration").textContent = subscription.state;
    row.querySelector(".registration").classList.toggle("good", subscription.state === "registered");
  };
  let told = 0;
  subscription.on("registering", showState);
  subscription.on("registered", showState);
  subscription.on("notification", (_, meta) => {
    row.querySelector(".told").textContent = `told ${told += 1}×`;
    showNotification(number, meta);
  });
  subscription.on("gap", (reason) => showGap(number, reason));
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
  rows.add(row);
  element("subscriptions").append(row);
  element("subscriptions-title").hidden = false;
  return row;
}

function removeRow(row) {
  row.remove();
  rows.delete(row);
  element("subscriptions-title").hidden = rows.size === 0;
}
