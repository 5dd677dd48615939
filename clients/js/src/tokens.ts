/** Both tokens (docs/protocol.md §2). */
export interface Tokens {
  /** Identifies the application. */
  api: string;
  /** Identifies the person. */
  user: string;
}

/**
 * Fetches tokens. After a rejection the client calls it again, with growing waits. `null` means that there are no
 * tokens, for example because the person has logged out: the client then stops.
 */
export type TokenSource = () => Tokens | null | Promise<Tokens | null>;

/** The dates of a token, in seconds since 1970. */
interface Dates {
  exp?: number;
  iat?: number;
}

/** The unverified payload of a JWT; an empty object if the token is not a JWT. */
export function claimsOf(token: string): Record<string, unknown> {
  try {
    const payload = token.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/");
    return Object(JSON.parse(atob(payload))) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** The dates of the token that expires first; `undefined` if neither has an `exp`. */
function firstToExpire(tokens: Tokens): Required<Pick<Dates, "exp">> & Dates | undefined {
  let first: (Dates & { exp: number }) | undefined;
  for (const token of [tokens.api, tokens.user]) {
    const { exp, iat } = claimsOf(token) as Dates;
    if (typeof exp !== "number" || exp >= (first?.exp ?? Infinity)) continue;
    first = { exp, ...(typeof iat === "number" && { iat }) };
  }
  return first;
}

/** The earlier `exp` of the two tokens, in seconds since 1970 by the issuer's clock. */
export function expiryOf(tokens: Tokens): number | undefined {
  return firstToExpire(tokens)?.exp;
}

/**
 * The remaining lifetime of tokens that were just fetched, in milliseconds. If a token seems to be valid for longer
 * than it was issued for, or to have expired already, the clock of this machine is wrong: then its whole lifetime
 * counts.
 */
export function lifetimeOf(tokens: Tokens, now: number): number | undefined {
  const first = firstToExpire(tokens);
  if (!first) return undefined;
  const left = first.exp * 1000 - now;
  const whole = first.iat === undefined ? left : (first.exp - first.iat) * 1000;
  return Math.max(0, left > 0 ? Math.min(left, whole) : whole);
}
