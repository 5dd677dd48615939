// What the node tells: NOTIFICATION and GAP, newest first.

import { on } from "./connection.js";
import { latency } from "./emit.js";
import { rawMember, readable } from "./json.js";
import { boundedList, clock, element, rowOf } from "./page.js";
import { countTold } from "./subscriptions.js";

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

on("NOTIFICATION", ({ response }, text, arrived) => {
  countTold(response.eventId);
  notified += 1;
  const data = rawMember(rawMember(text, "response"), "eventData");
  list.add({ ...response, data, at: new Date(), latency: latency(response, arrived) });
});
on("GAP", ({ response }) => list.add({ ...response, at: new Date(), gap: response.reason }));

function notificationRow(item) {
  const row = rowOf("notification-template");
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
