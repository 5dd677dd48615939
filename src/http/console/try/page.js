// Parts of the page that several modules touch, and how its lists are written.

import { compact } from "./json.js";
import { withoutTokens } from "./tokens.js";

const LIST_LIMIT = 200; // rows that a list keeps

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

/** Says what is wrong, or with "" that nothing is. */
export function showProblem(id, text) {
  element(id).textContent = withoutTokens(text);
  element(id).hidden = text === "";
}

/** A field's JSON as compact text; "" when empty and not required. Throws what to mend. */
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
 * A list, newest row first, of at most LIST_LIMIT rows. It is written once per picture, so that thousands of items a second
 * don't stop the page.
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
