// REGISTER and UNREGISTER, and the subscriptions of this session.

import { on, transmit } from "./connection.js";
import { element, errorText, jsonField, rowOf, showProblem } from "./page.js";

const subscriptions = new Map(); // eventId -> its row and how often it was told
let nextGuid = 1;

const newGuid = () => String(nextGuid++);

/** How many there are. */
export const subscriptionCount = () => subscriptions.size;

on("REGISTER", (message) => {
  showRefused(message);
  for (const entry of message.response?.validOnEvents ?? []) addSubscription(entry);
});
on("UNREGISTER", (message) => {
  showRefused(message);
  for (const { eventId } of message.response?.validOnEvents ?? []) {
    subscriptions.get(eventId)?.row.remove();
    subscriptions.delete(eventId);
  }
  element("subscriptions-title").hidden = subscriptions.size === 0;
});
on("UNKNOWN", showRefused);
on("CLOSED", () => {
  const ended = subscriptions.size > 0 ? "Its subscriptions ended with it: register again." : "";
  subscriptions.clear();
  element("subscriptions").replaceChildren();
  element("subscriptions-title").hidden = true;
  return ended;
});

function showRefused({ response, errors }) {
  const invalid = (response?.invalidOnEvents ?? []).map((entry) => entry.error);
  showProblem("register-problem", errorText([...(errors ?? []), ...invalid]));
}

function addSubscription(entry) {
  const row = rowOf("subscription-template");
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
  subscriptions.set(entry.eventId, { row, count: 0 });
  element("subscriptions").append(row);
  element("subscriptions-title").hidden = false;
}

/** Counts a notification on its subscription's row. */
export function countTold(eventId) {
  const subscription = subscriptions.get(eventId);
  if (subscription) subscription.row.querySelector(".told").textContent = `told ${subscription.count += 1}×`;
}

/** Registers what the form says. */
export function register(event) {
  event.preventDefault();
  showProblem("register-problem", "");
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
