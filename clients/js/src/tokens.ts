/** Both tokens (docs/protocol.md §2). */
export interface Tokens {
  /** Says which application. */
  api: string;
  /** Says which person. */
  user: string;
}

/**
 * Fetches tokens. A rejection is taken for passing trouble: it is tried again, with growing waits. `null` says that there
 * are none, such as for a person who has logged out: the client then stops.
 */
export type TokenSource = () => Tokens | null | Promise<Tokens | null>;

/** The dates of a token, in seconds since 1970. */
interface Dates {
  exp?: number;
  iat?: number;
}

/** The payload of a JWT, unverified; an empty object for what is none. */
export function claimsOf(token: string): Record<string, unknown> {
  try {
    const payload = token.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/");
    return Object(JSON.parse(atob(payload))) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** The token that ends first; `undefined` where neither says when. */
function firstToEnd(tokens: Tokens): Required<Pick<Dates, "exp">> & Dates | undefined {
  let first: (Dates & { exp: number }) | undefined;
  for (const token of [tokens.api, tokens.user]) {
    const { exp, iat } = claimsOf(token) as Dates;
    if (typeof exp === "number" && exp < (first?.exp ?? Infinity)) first = { exp, ...(typeof iat === "number" && { iat }) };
  }
  return first;
}

/** When the earlier of both tokens ends, in seconds since 1970 by the issuer's clock. */
export function expiryOf(tokens: Tokens): number | undefined {
  return firstToEnd(tokens)?.exp;
}

/**
 * How long tokens that were just fetched last, in milliseconds. A token that seems to last longer than it was issued for,
 * or to be over already, shows that the clock of this machine is wrong: then its whole lifetime counts.
 */
export function lifetimeOf(tokens: Tokens, now: number): number | undefined {
  const first = firstToEnd(tokens);
  if (!first) return undefined;
  const left = first.exp * 1000 - now;
  const whole = first.iat === undefined ? left : (first.exp - first.iat) * 1000;
  return Math.max(0, left > 0 ? Math.min(left, whole) : whole);
}
