// The view of notifications and gaps, newest first.

import { rawMember, readable } from "./json.js";
import { announce, boundedList, bringIntoView, clock, element, rowOf } from "./page.js";

let received = 0;
let answersEmit = false; // whether a row that is not drawn yet answers the newest emit

const list = boundedList("notifications", (item) => item.gap ? gapRow(item) : notificationRow(item), () => {
  element("empty").hidden = element("notifications").childElementCount > 0;
  element("count").textContent = received;
  if (!element("empty").hidden) return;
  element("bell").classList.add("rings");
  announce("notifications", received === 1 ? "1 notification." : `${received} notifications.`);
  if (answersEmit) bringIntoView(element("emit-answer"), element("notifications").firstElementChild);
  answersEmit = false;
});

/** Shows a notification of subscription `number`; `delivery` names the emit of this page that it answers, if any. */
export function showNotification(number, { event, text }, delivery) {
  received += 1;
  answersEmit ||= delivery?.isNewest === true && delivery.receivers === 1;
  const data = rawMember(rawMember(text, "response"), "eventData");
  list.add({ number, name: event, data, at: new Date(), latency: delivery?.milliseconds ?? null });
}

/** Shows that a subscription may have missed notifications. */
export function showGap(number, reason) {
  list.add({ number, name: `gap: ${reason}`, data: null, at: new Date(), latency: null, gap: reason });
}

function notificationRow(item) {
  const row = rowOf("notification-template");
  row.querySelector("time").textContent = clock(item.at);
  row.querySelector(".number").textContent = `#${item.number}`;
  row.querySelector(".name").textContent = item.name;
  row.querySelector(".latency").textContent = item.latency === null ? "" : `${item.latency.toFixed(1)} ms after the click`;
  row.querySelector(".data").textContent = item.data === null ? "(without event data)" : readable(item.data);
  return row;
}

function gapRow(item) {
  const row = notificationRow(item);
  row.className = "gap";
  row.querySelector(".data").textContent = "Notifications may have been missed. An application fetches its state again now.";
  return row;
}

/** Empties the list. */
export function clearNotifications() {
  received = 0;
  list.clear();
  element("count").textContent = "0";
  announce("notifications", "No notifications.");
  element("empty").hidden = false;
}
