/**
 * What a client does after a close code (docs/protocol.md §7): stop, reconnect, reconnect later and send less, or
 * reconnect with new tokens.
 *
 * @internal
 */
export type Reaction = "stop" | "retry" | "slower" | "tokens";

const REACTIONS: Record<number, Reaction> = {
  1000: "stop", // closed normally
  1002: "stop", // protocol error: a bug of the client, as are the next three
  1003: "stop", // binary frame
  1007: "stop", // not UTF-8
  1009: "stop", // message too long
  4401: "tokens", // token invalid or expired
  4403: "stop", // ended by an administrator or by the application
  4429: "slower", // too many messages
};

/** @internal */
export function reactionTo(closeCode: number): Reaction {
  return REACTIONS[closeCode] ?? "retry";
}

/** The longest wait that a node may ask for, in milliseconds. A typing error must not stop a client for good. */
const MAX_RETRY_AFTER = 3_600_000;

/**
 * The wait that a `Retry-After` header in seconds asks for, in milliseconds.
 *
 * @internal
 */
export function retryAfter(header: string | null | undefined): number | undefined {
  const seconds = header ? Number(header) : NaN;
  return seconds >= 0 ? Math.min(seconds * 1000, MAX_RETRY_AFTER) : undefined;
}

/**
 * The wait that a close reason asks for, in milliseconds: `retry-after=12`, or `retry after 12`.
 *
 * @internal
 */
export function retryHint(reason: string): number | undefined {
  return retryAfter(/retry[- ]after[=: ]+(\d+)/i.exec(reason)?.[1]);
}
