/**
 * The subscriptions of a client. Registers and unregisters them in the current session, with few messages, and passes
 * answers and notifications to their subscription.
 */
import { Backoff } from "./backoff.js";
import { CarillonError } from "./errors.js";
import type { Session } from "./session.js";
import type { EndReason, NotificationMeta, Subscription } from "./subscription.js";
import { batches, byteLength, MESSAGE_BYTES, type AnsweredEntry, type EntryLists, type Position } from "./wire.js";

type Any = Subscription<any>;

const NO_RESULT = { code: "UNKNOWN", message: "the node did not answer for this subscription" };

export class Registrations {
  #all = new Set<Any>();
  /** Those that are not registered in the session yet. */
  #unregistered = new Set<Any>();
  #byEventId = new Map<string, Any>();
  /** Ids to unregister, each with the callback for the answer. */
  #ended = new Map<string, () => void>();
  /** Those that ended before the node answered their REGISTER. */
  #endedUnanswered = new Map<Any, () => void>();
  #session: Session | undefined;
  #isFlushing = false;
  #backoff = new Backoff();
  #retry: ReturnType<typeof setTimeout> | undefined;

  add(subscription: Any): void {
    this.#all.add(subscription);
    this.#unregistered.add(subscription);
    this.#flushSoon();
  }

  /** Ends a subscription. Resolves when the node has answered, or at once if the node need not know. */
  remove(subscription: Any, reason: EndReason): Promise<void> {
    return new Promise((resolve) => {
      const wasThere = this.#all.delete(subscription);
      const isUnknown = this.#unregistered.delete(subscription) || !this.#session;
      subscription.onEnded(reason);
      if (!wasThere || isUnknown) return resolve();
      if (subscription.eventId === undefined) return void this.#endedUnanswered.set(subscription, resolve);
      this.#byEventId.delete(subscription.eventId);
      this.#ended.set(subscription.eventId, resolve);
      this.#flushSoon();
    });
  }

  /** Registers all subscriptions in a new session. */
  onConnected(session: Session): void {
    this.#session = session;
    this.#unregistered = new Set(this.#all);
    this.#backoff.reset();
    this.#flushSoon();
  }

  /** Forgets the ids of a session that has ended. */
  onDisconnected(): void {
    const registered = [...this.#byEventId.values()];
    this.#forgetSession();
    for (const subscription of registered) subscription.onDisconnected();
  }

  endAll(reason: EndReason): void {
    const all = [...this.#all];
    this.#all.clear();
    this.#unregistered.clear();
    this.#forgetSession();
    for (const subscription of all) subscription.onEnded(reason);
  }

  #forgetSession(): void {
    this.#session = undefined;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#byEventId.clear();
    for (const callbacks of [this.#ended, this.#endedUnanswered]) {
      for (const resolve of callbacks.values()) resolve();
      callbacks.clear();
    }
  }

  onNotification(response: Record<string, unknown>, text: string): void {
    const notification = response as unknown as NotificationMeta & Record<string, unknown>;
    const { eventId, eventName, eventData, epoch, offset } = notification;
    const meta: NotificationMeta = { event: eventName as string, eventId, text };
    if (epoch !== undefined) Object.assign(meta, { epoch, offset });
    this.#byEventId.get(eventId)?.onNotification(eventData, meta);
  }

  onGap({ eventId, reason }: Record<string, unknown>): void {
    this.#byEventId.get(eventId as string)?.emit("gap", String(reason));
  }

  /** Sends once for all changes that the application makes in one turn. */
  #flushSoon(): void {
    if (this.#isFlushing || !this.#session) return;
    this.#isFlushing = true;
    queueMicrotask(() => {
      this.#isFlushing = false;
      if (this.#session) this.#flush(this.#session);
    });
  }

  #flush(session: Session): void {
    const ended = [...this.#ended];
    this.#ended.clear();
    for (const batch of batches(ended, ([eventId]) => entryOfId(eventId))) this.#unregister(session, batch);
    const added = [...this.#unregistered].map((subscription) => ({ subscription, entry: entryOf(subscription) }));
    this.#unregistered.clear();
    for (const batch of batches(added, ({ entry }) => entry)) this.#register(session, batch);
  }

  #register(session: Session, batch: { subscription: Any; entry: string }[]): void {
    if (byteLength(batch[0]!.entry) > MESSAGE_BYTES) {
      const message = "condition and select are too long for one message";
      return this.#refuse(batch[0]!.subscription, "PAYLOAD_TOO_LARGE", message);
    }
    const entries = batch.map(({ entry }, ref) => `{"ref":"${ref}",${entry.slice(1)}`);
    session.request("REGISTER", `"onEvents":[${entries}]`, (message) => {
      if (!message) return;
      const { validOnEvents = [], invalidOnEvents = [] } = (message.response ?? {}) as Partial<EntryLists>;
      const failed = message.errors?.[0];
      for (const [ref, { subscription }] of batch.entries()) {
        if (session !== this.#session) return; // the answer is for an old session, or a listener closed the client
        const isAnswer = (entry: AnsweredEntry) => entry.ref === String(ref);
        const valid = validOnEvents.find(isAnswer);
        if (valid) this.#onValid(subscription, valid);
        else this.#onInvalid(subscription, invalidOnEvents.find(isAnswer)?.error ?? failed);
      }
    });
  }

  #onValid(subscription: Any, entry: AnsweredEntry): void {
    const eventId = entry.eventId!;
    const onEnded = this.#endedUnanswered.get(subscription);
    if (onEnded) {
      this.#endedUnanswered.delete(subscription);
      this.#ended.set(eventId, onEnded);
      return this.#flushSoon();
    }
    this.#byEventId.set(eventId, subscription);
    const { epoch, offset } = entry;
    const at: Position | undefined = epoch === undefined || offset === undefined ? undefined : { epoch, offset };
    subscription.onRegistered(eventId, at, entry.recovered);
  }

  #onInvalid(subscription: Any, error = NO_RESULT): void {
    const onEnded = this.#endedUnanswered.get(subscription);
    this.#endedUnanswered.delete(subscription);
    if (onEnded) return onEnded();
    if (error.code !== "TEMPORARILY_UNAVAILABLE") return this.#refuse(subscription, error.code, error.message);
    this.#unregistered.add(subscription);
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
    session.request("UNREGISTER", `"onEvents":[${entries}]`, () => {
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
