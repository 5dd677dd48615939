import { CarillonError } from "./errors.js";
import { Events } from "./events.js";
import { Iteration } from "./iteration.js";
import type { Position } from "./wire.js";

/** What to hear of an event. */
export interface SubscriptionOptions {
  /**
   * Criteria over the event data, as a MongoDB query. Without them every emit of the event is delivered. A condition is a
   * filter, not a permission.
   */
  condition?: Record<string, unknown>;
  /** Which fields to tell, as a MongoDB projection. */
  select?: Record<string, 0 | 1 | boolean>;
  /** `false` tells that something happened, without the event data. */
  getEventData?: boolean;
  /** How many notifications an iteration keeps for a slow reader. 1,000 without it. */
  buffer?: number;
  /** Ends the subscription. */
  signal?: AbortSignal;
}

export type SubscriptionState = "registering" | "registered" | "refused" | "ended";

/** Why a subscription ended. `stopped`: the connection ended for good, see its `disconnected`. */
export type EndReason = "unsubscribed" | "closed" | "stopped";

/** What stands beside the event data of a notification. */
export interface NotificationMeta {
  /** The event's name. */
  event: string;
  /** The subscription's id in this session. */
  eventId: string;
  /** The message as the node wrote it, for numbers that `JSON.parse` rounds. */
  text: string;
  /** Where the notification stands in the event's history, if it keeps one. */
  epoch?: string;
  offset?: number;
}

export interface SubscriptionEvents<T> {
  notification: (data: T, meta: NotificationMeta) => void;
  /**
   * Notifications may have been missed: fetch your state again. `RECONNECTED`: the connection was away. `BUFFER_OVERFLOW`:
   * an iteration was read too slowly. Others are the node's, such as `BUS_RECONNECTED`.
   */
  gap: (reason: string) => void;
  /** The connection is away. The subscription is registered again when it is back. */
  registering: () => void;
  /** The node tells every matching emit from here on. After a reconnect it comes again. */
  registered: () => void;
  /** The node does not take it. It is not tried again. */
  refused: (error: CarillonError) => void;
  ended: (reason: EndReason) => void;
}

/** One wish to hear an event. It outlives connections. */
export class Subscription<T = unknown> extends Events<SubscriptionEvents<T>> implements AsyncIterable<T> {
  #state: SubscriptionState = "registering";
  #error: CarillonError | undefined;
  #iterations = new Set<Iteration<T>>();
  #buffer: number;
  #wasRegistered = false;
  #position: Position | undefined;
  #unsubscribe: (subscription: Subscription<any>) => Promise<void>;

  /** @internal */
  readonly entry: string;
  /** @internal The node's name for it in this session. */
  eventId: string | undefined;

  /** @internal */
  constructor(
    /** The event's name. */
    readonly event: string,
    options: SubscriptionOptions,
    unsubscribe: (subscription: Subscription<any>) => Promise<void>,
  ) {
    super();
    const { condition, select, getEventData } = options;
    this.entry = JSON.stringify({
      eventType: "CUSTOM_WS_EVENTS",
      apiName: event,
      condition: condition && { conditionType: "RESPONSE", criteria: condition },
      select,
      getEventData,
    });
    this.#buffer = options.buffer ?? 1000;
    this.#unsubscribe = unsubscribe;
  }

  get state(): SubscriptionState {
    return this.#state;
  }

  /** Why it was refused. */
  get error(): CarillonError | undefined {
    return this.#error;
  }

  /** Ends it; nothing more is told from the call on. Resolves when the node has answered, or is not connected. */
  unsubscribe(): Promise<void> {
    return this.#unsubscribe(this);
  }

  /**
   * The event data of what is told from now on. For a slow reader up to `buffer` notifications are kept; past it the oldest
   * are dropped and `gap` is raised with `BUFFER_OVERFLOW`. Finishes when the subscription ends, throws when it is refused.
   * Leaving the loop ends the iteration, not the subscription. Without a loop call `return()`: what nobody reads is kept.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    const iteration: Iteration<T> = new Iteration(
      this.#buffer,
      () => this.emit("gap", "BUFFER_OVERFLOW"),
      () => this.#iterations.delete(iteration),
    );
    if (this.isOver) iteration.finish(this.#error);
    else this.#iterations.add(iteration);
    return iteration;
  }

  /** @internal */
  get isOver(): boolean {
    return this.#state === "refused" || this.#state === "ended";
  }

  /** @internal Where to go on in the event's history. */
  get position(): Position | undefined {
    return this.#position;
  }

  /** @internal */
  onRegistered(eventId: string, at: Position | undefined, recovered: boolean | undefined): void {
    this.eventId = eventId;
    this.#state = "registered";
    const missed = this.#wasRegistered && !recovered;
    if (at && (!recovered || !this.#position)) this.#position = at;
    this.#wasRegistered = true;
    this.emit("registered");
    if (missed) this.emit("gap", "RECONNECTED");
  }

  /** @internal */
  onNotification(data: T, meta: NotificationMeta): void {
    const { epoch, offset } = meta;
    if (epoch !== undefined && offset !== undefined) {
      if (epoch === this.#position?.epoch && offset <= this.#position.offset) return; // told before
      this.#position = { epoch, offset };
    }
    for (const iteration of this.#iterations) iteration.push(data);
    this.emit("notification", data, meta);
  }

  /** @internal The connection is away; it will be registered again. */
  onAway(): void {
    if (this.isOver) return; // ended by a listener of another
    this.eventId = undefined;
    this.#state = "registering";
    this.emit("registering");
  }

  /** @internal */
  onRefused(error: CarillonError): void {
    this.#error = error;
    this.#finish("refused");
    this.emit("refused", error);
    this.forgetListeners();
  }

  /** @internal */
  onEnded(reason: EndReason): void {
    if (this.isOver) return;
    this.#finish("ended");
    this.emit("ended", reason);
    this.forgetListeners();
  }

  #finish(state: "refused" | "ended"): void {
    this.#state = state;
    for (const iteration of this.#iterations) iteration.finish(this.#error);
  }
}
