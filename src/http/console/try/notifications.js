// What subscriptions tell: notifications and gaps, newest first.

import { latency } from "./emit.js";
import { rawMember, readable } from "./json.js";
import { boundedList, clock, element, rowOf } from "./page.js";

const ANNOUNCED_EVERY_MILLISECONDS = 1000;

let notified = 0;
let announcing = false;

const list = boundedList("notifications", (item) => item.gap ? gapRow(item) : notificationRow(item), () => {
  element("empty").hidden = element("notifications").childElementCount > 0;
  element("count").textContent = notified;
  if (!element("empty").hidden) return;
  element("bell").classList.add("rings");
  announce();
});

/** Shows what a subscription was told. */
export function showNotification(number, { event, text }) {
  notified += 1;
  const data = rawMember(rawMember(text, "response"), "eventData");
  list.add({ number, name: event, data, at: new Date(), latency: latency(number, event) });
}

/** Shows that a subscription may not have been told everything. */
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
  row.querySelector(".data").textContent = "Notifications may have been missed: an application would fetch its state again.";
  return row;
}

/** Tells a screen reader how many there are, at most once a second. */
function announce() {
  if (announcing) return;
  announcing = true;
  setTimeout(() => {
    announcing = false;
    element("announcer").textContent = notified === 1 ? "1 notification" : `${notified} notifications`;
  }, ANNOUNCED_EVERY_MILLISECONDS);
}

/** Empties the list. */
export function clearNotifications() {
  notified = 0;
  list.clear();
  element("count").textContent = "0";
  element("announcer").textContent = "";
  element("empty").hidden = false;
}
