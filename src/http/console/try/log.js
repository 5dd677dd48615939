// The view of frames and requests in both directions, without tokens.

import { shortened } from "./json.js";
import { boundedList, clock, textIn } from "./page.js";
import { withoutTokens } from "./tokens.js";

const log = boundedList("log", ({ direction, text, at }) => {
  const row = textIn("li", "", direction);
  row.append(textIn("time", clock(at)), " ", textIn("b", direction === "in" ? "← in" : "→ out"), ` ${text}`);
  return row;
});

/** Logs a frame; `direction` is "in" or "out". */
export function logFrame(direction, text) {
  log.add({ direction, text: withoutTokens(shortened(text)), at: new Date() });
}
