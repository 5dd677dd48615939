// JSON as text. The page never prints a parsed value, because JavaScript rounds 9007199254740993 and drops the zero of
// 129.90.

const SHOWN_CHARACTERS = 16384; // of one notification or frame
const JSON_TOKENS = /"(?:[^"\\]+|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

const isOpening = (token) => token === "{" || token === "[";
const isClosing = (token) => token === "}" || token === "]";

/** Valid `json` without whitespace between its tokens. */
export const compact = (json) => (json.match(JSON_TOKENS) ?? []).join("");

/** Valid `json` as a value. Its numbers keep their digits when the value is serialized again, if the browser has `JSON.rawJSON`. */
export function valueOf(json) {
  return JSON.parse(json, (_, value, context) => typeof value === "number" && JSON.rawJSON ? JSON.rawJSON(context.source) : value);
}

/** The text of an object's member, as it stands in valid `json`; null without one. */
export function rawMember(json, name) {
  let depth = 0, key = "", start = 0, found = null;
  for (const { 0: token, index } of json.matchAll(JSON_TOKENS)) {
    if (depth === 1 && (token === "," || token === "}")) {
      if (key === name) found = json.slice(start, index).trim();
      start = 0;
    } else if (depth === 1 && token === ":") {
      start = index + 1;
    } else if (depth === 1 && start === 0) {
      key = JSON.parse(token);
    }
    if (isOpening(token)) depth += 1;
    else if (isClosing(token)) depth -= 1;
  }
  return found;
}

/** Valid `json` on indented lines, with its values unchanged. */
function indented(json) {
  let text = "", depth = 0, previous = "";
  for (const [token] of json.matchAll(JSON_TOKENS)) {
    if (isClosing(token)) depth -= 1;
    const breaks = isOpening(previous) !== isClosing(token) || previous === ",";
    if (breaks && previous !== "") text += "\n" + "  ".repeat(depth);
    text += token === ":" ? ": " : token;
    if (isOpening(token)) depth += 1;
    previous = token;
  }
  return text;
}

/** The beginning of a long text. */
export const shortened = (text) => text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)} … (${text.length} characters)` : text;

/** Valid `json`, indented unless it is long. */
export const readable = (json) => json.length > SHOWN_CHARACTERS ? shortened(json) : indented(json);
