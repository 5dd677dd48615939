// The latest emits of this page. The latency of a notification is measured from the emit that it answers.

const LATENCY_LIMIT_MILLISECONDS = 10000; // a notification that comes later does not answer the emit
const EMITS_REMEMBERED = 200;

const emits = []; // newest first

/** Remembers an emit of the event `name` at the moment of its click. */
export function rememberEmit(name) {
  const sent = { name, clicked: performance.now(), receivers: new Set() };
  emits.unshift(sent);
  emits.length = Math.min(emits.length, EMITS_REMEMBERED);
  return sent;
}

export const isNewest = (sent) => sent === emits[0];

/**
 * Assigns a notification of subscription `number` to the newest emit of `event` that this subscription has not received.
 * Returns null if there is none.
 */
export function assignToEmit(number, event) {
  const sent = emits.find((one) => one.name === event && !one.receivers.has(number));
  const milliseconds = performance.now() - sent?.clicked;
  if (!sent || milliseconds > LATENCY_LIMIT_MILLISECONDS) return null;
  sent.receivers.add(number);
  return { milliseconds, receivers: sent.receivers.size, isNewest: isNewest(sent) };
}
