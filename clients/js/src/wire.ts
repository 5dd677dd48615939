/** The messages of the protocol as they stand on the wire (docs/protocol.md §4). */
import type { ErrorBody } from "./errors.js";

/** What a node sends. */
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

/** An entry that comes back: the client's own and what the node made of it. */
export interface AnsweredEntry {
  ref?: string;
  eventId?: string;
  error?: ErrorBody;
  epoch?: string;
  offset?: number;
  recovered?: boolean;
}

/** Where a subscription stands in the history of its event. */
export interface Position {
  epoch: string;
  offset: number;
}

/** How many bytes of entries one message carries: the node takes 65,536 with all that is around them. */
export const MESSAGE_BYTES = 60_000;

/** How many entries one message carries: the answer to more would be long on its way. */
const MESSAGE_ENTRIES = 100;

const encoder = new TextEncoder();

/** The length of a text on the wire. */
export function byteLength(text: string): number {
  return encoder.encode(text).length;
}

/** Groups items, given with the bytes of each, into messages. */
export function batches<T>(items: Iterable<T>, textOf: (item: T) => string, most = MESSAGE_ENTRIES, bytes = MESSAGE_BYTES): T[][] {
  const all: T[][] = [];
  let room = 0;
  for (const item of items) {
    const length = byteLength(textOf(item)) + 1;
    let last = all[all.length - 1];
    if (!last || last.length >= most || length > room) {
      all.push((last = []));
      room = bytes;
    }
    last.push(item);
    room -= length;
  }
  return all;
}
