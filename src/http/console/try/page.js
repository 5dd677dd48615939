// Parts of the page that several views use, and how its lists are drawn.

import { compact } from "./json.js";
import { withoutTokens } from "./tokens.js";

const LIST_LIMIT = 200; // rows in a list
const ANNOUNCED_EVERY_MILLISECONDS = 1000;

const announcements = new Map();

export const element = (id) => document.getElementById(id);

/** A new element with a text. */
export function textIn(tag, text, className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

/** A copy of a template's row. */
export const rowOf = (template) => element(template).content.cloneNode(true).firstElementChild;

/** The time of day to the millisecond. */
export const clock = (date) => `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, "0")}`;

/** Shows a problem; "" removes it. */
export function showProblem(id, text) {
  element(id).textContent = withoutTokens(text);
  element(id).hidden = text === "";
}

/** Announces a text to screen readers, at most once a second. A newer text on the same topic replaces an older one. */
export function announce(topic, text) {
  announcements.set(topic, text);
  if (announcements.size === 1) setTimeout(announceAll, ANNOUNCED_EVERY_MILLISECONDS);
}

function announceAll() {
  element("announcer").textContent = [...announcements.values()].join(" ");
  announcements.clear();
}

/** Scrolls only as far as needed to show these elements. The last one wins if they do not all fit. */
export function bringIntoView(...elements) {
  for (const one of elements) one?.scrollIntoView({ block: "nearest", behavior: "instant" });
}

/** A field's JSON as compact text; "" when empty and not required. Throws an error that says what to fix. */
export function jsonField(id, what, required) {
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

/**
 * A list of at most LIST_LIMIT rows, newest first. It is drawn once per animation frame, so that thousands of items a
 * second do not block the page.
 */
export function boundedList(id, toRow, onDrawn = () => {}) {
  const waiting = [];
  const draw = () => {
    element(id).prepend(...waiting.splice(0).map(toRow).reverse());
    while (element(id).childElementCount > LIST_LIMIT) element(id).lastElementChild.remove();
    onDrawn();
  };
  return {
    add(item) {
      if (waiting.push(item) === 1) requestAnimationFrame(draw);
      if (waiting.length > LIST_LIMIT) waiting.shift();
    },
    clear() {
      waiting.length = 0;
      element(id).replaceChildren();
    },
  };
}
