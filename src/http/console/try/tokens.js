// Both tokens. They stay in this tab and are never shown.

export const tokens = { api: "", user: "" };

/** The claims of a token, not verified; {} if it cannot be read. */
export function claims(token) {
  try {
    const bytes = Uint8Array.from(atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    return Object(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return {};
  }
}

/** The project that the API token names. */
export const project = () => String(claims(tokens.api).project ?? "");

/** Whether there is any token. */
export const hasTokens = () => tokens.api !== "" || tokens.user !== "";

/** Stores new tokens until the tab is closed. */
export function storeTokens(api, user) {
  tokens.api = api.trim();
  tokens.user = user.trim();
  try {
    if (hasTokens()) sessionStorage.setItem("carillon-tokens", JSON.stringify(tokens));
    else sessionStorage.removeItem("carillon-tokens");
  } catch { /* a browser without storage: the tokens last as long as the page */ }
}

/** Takes both tokens out of the page's address, so that no history and no screenshot shows them; null without any. */
export function takeTokensFromAddress() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (!fragment.has("api") && !fragment.has("user")) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return { api: fragment.get("api") ?? "", user: fragment.get("user") ?? "" };
}

/** The tokens that this tab stored. */
export function storedTokens() {
  try {
    const { api = "", user = "" } = Object(JSON.parse(sessionStorage.getItem("carillon-tokens")));
    return { api: String(api), user: String(user) };
  } catch {
    return { api: "", user: "" };
  }
}

const ANY_TOKEN = /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g; // also one that was used before

/** `text` without any token. */
export function withoutTokens(text) {
  text = text.replace(ANY_TOKEN, "…");
  return Object.values(tokens).reduce((rest, token) => token ? rest.replaceAll(token, "…") : rest, text);
}
