import { CarillonError } from "./errors.js";
import { Events } from "./events.js";
import { Iteration } from "./iteration.js";
import type { Position } from "./wire.js";

/** What to receive of an event. */
export interface SubscriptionOptions {
  /**
   * Criteria over the event data, as a MongoDB query. Without them every emit of the event is delivered. A condition is
   * a filter, not a permission.
   */
  condition?: Record<string, unknown>;
  /** Which fields to receive, as a MongoDB projection. */
  select?: Record<string, 0 | 1 | boolean>;
  /** `false`: receive notifications without the event data. */
  getEventData?: boolean;
  /** Maximum notifications that an iteration buffers for a slow reader. Default: 1,000. */
  buffer?: number;
  /** Ends the subscription. */
  signal?: AbortSignal;
}

export type SubscriptionState = "registering" | "registered" | "refused" | "ended";

/** Why a subscription ended. `stopped`: the client stopped, see its event `disconnected`. */
export type EndReason = "unsubscribed" | "closed" | "stopped";

/** The metadata of a notification. */
export interface NotificationMeta {
  /** The event's name. */
  event: string;
  /** The subscription's id in this session. */
  eventId: string;
  /** The message as the node wrote it, for numbers that `JSON.parse` rounds. */
  text: string;
  /** The position in the event's history, if the event keeps one. */
  epoch?: string;
  offset?: number;
}

export interface SubscriptionEvents<T> {
  notification: (data: T, meta: NotificationMeta) => void;
  /**
   * Notifications may have been missed: fetch your state again. `RECONNECTED`: the connection was lost for a while.
   * `BUFFER_OVERFLOW`: an iteration was read too slowly. Other reasons come from the node, such as `BUS_RECONNECTED`.
   */
  gap: (reason: string) => void;
  /** The connection is lost. The subscription is registered again after the reconnect. */
  registering: () => void;
  /** Every matching emit is delivered from here on. Comes again after each reconnect. */
  registered: () => void;
  /** The node refused the subscription. There is no further attempt. */
  refused: (error: CarillonError) => void;
  ended: (reason: EndReason) => void;
}

/** A subscription to an event. It lives across reconnects. */
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
  /** @internal The subscription's id in the current session. */
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

  /** The node's error, if the subscription was refused. */
  get error(): CarillonError | undefined {
    return this.#error;
  }

  /**
   * Ends the subscription; no listener is called any more. Resolves when the node has answered, or if it is not
   * connected.
   */
  unsubscribe(): Promise<void> {
    return this.#unsubscribe(this);
  }

  /**
   * Iterates over the event data of notifications from now on. Up to `buffer` notifications are buffered for a slow
   * reader. Above that the oldest are dropped and `gap` is raised with `BUFFER_OVERFLOW`. The iteration finishes when
   * the subscription ends, and throws if it is refused. Leaving the loop ends the iteration, not the subscription.
   * Without a loop, call `return()` to end the buffering.
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

  /** @internal Where to continue in the event's history. */
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
      if (epoch === this.#position?.epoch && offset <= this.#position.offset) return; // a duplicate
      this.#position = { epoch, offset };
    }
    for (const iteration of this.#iterations) iteration.push(data);
    this.emit("notification", data, meta);
  }

  /** @internal The connection is lost; the subscription will be registered again. */
  onDisconnected(): void {
    if (this.isOver) return; // a listener of another subscription ended it
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
