/** The messages of the protocol on the wire (docs/protocol.md §4). */
import type { ErrorBody } from "./errors.js";

/** A message from a node. */
export interface NodeMessage {
  type: string;
  guid?: string;
  response?: Record<string, unknown>;
  errors?: ErrorBody[];
}

/** The answer to a REGISTER or UNREGISTER. */
export interface EntryLists {
  validOnEvents: AnsweredEntry[];
  invalidOnEvents: AnsweredEntry[];
}

/** An entry of an answer: the members that the client sent, and the node's result. */
export interface AnsweredEntry {
  ref?: string;
  eventId?: string;
  error?: ErrorBody;
  epoch?: string;
  offset?: number;
  recovered?: boolean;
}

/** The position of a subscription in the history of its event. */
export interface Position {
  epoch: string;
  offset: number;
}

/** Maximum bytes of entries per message. The node accepts messages of 65,536 bytes in all. */
export const MESSAGE_BYTES = 60_000;

/** Maximum entries per message, to keep answers short. */
const MESSAGE_ENTRIES = 100;

const encoder = new TextEncoder();

/** The length of a text on the wire, in bytes. */
export function byteLength(text: string): number {
  return encoder.encode(text).length;
}

/** Groups items into messages, by the text of each item. */
export function batches<T>(
  items: Iterable<T>,
  textOf: (item: T) => string,
  maxItems = MESSAGE_ENTRIES,
  maxBytes = MESSAGE_BYTES,
): T[][] {
  const all: T[][] = [];
  let room = 0;
  for (const item of items) {
    const length = byteLength(textOf(item)) + 1;
    let last = all[all.length - 1];
    if (!last || last.length >= maxItems || length > room) {
      all.push((last = []));
      room = maxBytes;
    }
    last.push(item);
    room -= length;
  }
  return all;
}
