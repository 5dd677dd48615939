/**
 * The subscriptions of a client, and how they stand with the session of the hour: what is new or left is told to the node
 * in few messages, what it answers finds its subscription.
 */
import { Backoff } from "./backoff.js";
import { CarillonError } from "./errors.js";
import type { Session } from "./session.js";
import type { EndReason, NotificationMeta, Subscription } from "./subscription.js";
import { batches, byteLength, MESSAGE_BYTES, type AnsweredEntry, type EntryLists, type Position } from "./wire.js";

type Any = Subscription<any>;

export class Registrations {
  #all = new Set<Any>();
  /** Those that the session does not know yet. */
  #fresh = new Set<Any>();
  #byEventId = new Map<string, Any>();
  /** Ids to take back, and who waits for it. */
  #leaving = new Map<string, () => void>();
  /** Those that were left while the node was being asked for them. */
  #leavingUnanswered = new Map<Any, () => void>();
  #session: Session | undefined;
  #isFlushing = false;
  #backoff = new Backoff();
  #retry: ReturnType<typeof setTimeout> | undefined;

  add(subscription: Any): void {
    this.#all.add(subscription);
    this.#fresh.add(subscription);
    this.#flushSoon();
  }

  /** Ends a subscription. Resolves when the node knows, or need not know. */
  remove(subscription: Any, reason: EndReason): Promise<void> {
    return new Promise((resolve) => {
      const wasThere = this.#all.delete(subscription);
      const isUnknown = this.#fresh.delete(subscription) || !this.#session;
      subscription.onEnded(reason);
      if (!wasThere || isUnknown) return resolve();
      if (subscription.eventId === undefined) return void this.#leavingUnanswered.set(subscription, resolve);
      this.#byEventId.delete(subscription.eventId);
      this.#leaving.set(subscription.eventId, resolve);
      this.#flushSoon();
    });
  }

  /** A session has come: it is told everything. */
  onConnected(session: Session): void {
    this.#session = session;
    this.#fresh = new Set(this.#all);
    this.#backoff.reset();
    this.#flushSoon();
  }

  /** The session has ended, and all that it knew. */
  onAway(): void {
    const told = [...this.#byEventId.values()];
    this.#forgetSession();
    for (const subscription of told) subscription.onAway();
  }

  endAll(reason: EndReason): void {
    const all = [...this.#all];
    this.#all.clear();
    this.#fresh.clear();
    this.#forgetSession();
    for (const subscription of all) subscription.onEnded(reason);
  }

  #forgetSession(): void {
    this.#session = undefined;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#byEventId.clear();
    for (const waiting of [this.#leaving, this.#leavingUnanswered]) {
      for (const resolve of waiting.values()) resolve();
      waiting.clear();
    }
  }

  onNotification(response: Record<string, unknown>, text: string): void {
    const { eventId, eventName, eventData, epoch, offset } = response as unknown as NotificationMeta & Record<string, unknown>;
    const meta: NotificationMeta = { event: eventName as string, eventId, text };
    if (epoch !== undefined) Object.assign(meta, { epoch, offset });
    this.#byEventId.get(eventId)?.onNotification(eventData, meta);
  }

  onGap({ eventId, reason }: Record<string, unknown>): void {
    this.#byEventId.get(eventId as string)?.emit("gap", String(reason));
  }

  /** In one turn for all that the application does in its turn. */
  #flushSoon(): void {
    if (this.#isFlushing || !this.#session) return;
    this.#isFlushing = true;
    queueMicrotask(() => {
      this.#isFlushing = false;
      if (this.#session) this.#flush(this.#session);
    });
  }

  #flush(session: Session): void {
    const leaving = [...this.#leaving];
    this.#leaving.clear();
    for (const batch of batches(leaving, ([eventId]) => entryOfId(eventId))) this.#unregister(session, batch);
    const fresh = [...this.#fresh].map((subscription) => ({ subscription, entry: entryOf(subscription) }));
    this.#fresh.clear();
    for (const batch of batches(fresh, ({ entry }) => entry)) this.#register(session, batch);
  }

  #register(session: Session, batch: { subscription: Any; entry: string }[]): void {
    if (byteLength(batch[0]!.entry) > MESSAGE_BYTES) {
      return this.#refuse(batch[0]!.subscription, "PAYLOAD_TOO_LARGE", "condition and select are too long for one message");
    }
    const entries = batch.map(({ entry }, ref) => `{"ref":"${ref}",${entry.slice(1)}`);
    session.ask("REGISTER", `"onEvents":[${entries}]`, (message) => {
      if (!message) return;
      const { validOnEvents = [], invalidOnEvents = [] } = (message.response ?? {}) as Partial<EntryLists>;
      const failed = message.errors?.[0];
      for (const [ref, { subscription }] of batch.entries()) {
        if (session !== this.#session) return; // an old one's answer, or a listener has closed the client
        const isIt = (entry: AnsweredEntry) => entry.ref === String(ref);
        const valid = validOnEvents.find(isIt);
        if (valid) this.#onValid(subscription, valid);
        else this.#onInvalid(subscription, invalidOnEvents.find(isIt)?.error ?? failed);
      }
    });
  }

  #onValid(subscription: Any, entry: AnsweredEntry): void {
    const eventId = entry.eventId!;
    const left = this.#leavingUnanswered.get(subscription);
    if (left) {
      this.#leavingUnanswered.delete(subscription);
      this.#leaving.set(eventId, left);
      return this.#flushSoon();
    }
    this.#byEventId.set(eventId, subscription);
    const { epoch, offset } = entry;
    const at: Position | undefined = epoch === undefined || offset === undefined ? undefined : { epoch, offset };
    subscription.onRegistered(eventId, at, entry.recovered);
  }

  #onInvalid(subscription: Any, error = { code: "UNKNOWN", message: "the node did not answer for this subscription" }): void {
    const left = this.#leavingUnanswered.get(subscription);
    this.#leavingUnanswered.delete(subscription);
    if (left) return left();
    if (error.code !== "TEMPORARILY_UNAVAILABLE") return this.#refuse(subscription, error.code, error.message);
    this.#fresh.add(subscription);
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.#flushSoon();
    }, this.#backoff.next());
  }

  #refuse(subscription: Any, code: string, message: string): void {
    this.#all.delete(subscription);
    subscription.onRefused(new CarillonError(code, message));
  }

  #unregister(session: Session, batch: [string, () => void][]): void {
    const entries = batch.map(([eventId]) => entryOfId(eventId));
    session.ask("UNREGISTER", `"onEvents":[${entries}]`, () => {
      for (const [, resolve] of batch) resolve();
    });
  }
}

function entryOfId(eventId: string): string {
  return JSON.stringify({ eventId });
}

function entryOf({ entry, position }: Any): string {
  return position ? `${entry.slice(0, -1)},"recover":${JSON.stringify(position)}}` : entry;
}
