/**
 * What a close code asks of a client (docs/protocol.md §7): to stay away, to come back, to come back slower, or to come
 * back with new tokens.
 *
 * @internal
 */
export type Verdict = "stop" | "retry" | "slower" | "tokens";

const VERDICTS: Record<number, Verdict> = {
  1000: "stop", // goodbye
  1002: "stop", // broken frame: mend the client, as with the next three
  1003: "stop", // binary frame
  1007: "stop", // not UTF-8
  1009: "stop", // message too long
  4401: "tokens", // token bad or expired
  4403: "stop", // ended by an administrator or by the application
  4429: "slower", // too many messages
};

/** @internal */
export function verdictOf(closeCode: number): Verdict {
  return VERDICTS[closeCode] ?? "retry";
}

/** The longest wait that a node may ask for, in milliseconds: a typing error must not keep a client away for good. */
const LONGEST_HINT = 3_600_000;

/**
 * The wait that a `Retry-After` header in seconds asks for, in milliseconds.
 *
 * @internal
 */
export function retryAfter(header: string | null | undefined): number | undefined {
  const seconds = header ? Number(header) : NaN;
  return seconds >= 0 ? Math.min(seconds * 1000, LONGEST_HINT) : undefined;
}

/**
 * The wait that a close reason asks for, in milliseconds: `retry-after=12`, or `retry after 12`.
 *
 * @internal
 */
export function retryHint(reason: string): number | undefined {
  return retryAfter(/retry[- ]after[=: ]+(\d+)/i.exec(reason)?.[1]);
}
