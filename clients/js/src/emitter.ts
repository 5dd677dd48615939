import { Backoff } from "./backoff.js";
import { retryAfter } from "./codes.js";
import type { ErrorBody } from "./errors.js";
import { claimsOf } from "./tokens.js";
import { batches } from "./wire.js";

/** What one call carries: the node's `limits.emit_batch`, and its `limits.emit_bytes` with the brackets around. */
const BATCH = 1_000;
const BATCH_BYTES = 262_000;

export interface EmitterOptions {
  /** The API token, with the scope `emit`; or a function that gives one for each call. */
  token: string | (() => string | Promise<string>);
  /** The project; without it, that of the token. */
  project?: string;
  /** How long one try may take, the token's fetching included, in milliseconds. 10,000 without it. */
  timeout?: number;
  /** How often a call is tried again. 4 without it. */
  retries?: number;
  /** The longest wait that a node may ask for, in milliseconds; past it the call fails. 30,000 without it. */
  longestWait?: number;
  /** What makes requests in place of the global `fetch`. */
  fetch?: typeof fetch;
}

export interface EmitOptions {
  /** The same key again is not told again. A call without one gets one of its own, so that its retries are safe. */
  idempotencyKey?: string;
  /** Gives up. */
  signal?: AbortSignal;
}

/** One emit of a batch. */
export interface Emit {
  name: string;
  data: unknown;
  idempotencyKey?: string;
}

/** An emit that the broker has taken. */
export interface Emitted {
  id: string;
  /** Whether an emit with the same key was taken before; this one was not told. */
  duplicate: boolean;
  epoch?: string;
  offset?: number;
}

/** An emit that the broker has not taken, or may not have. */
export class EmitError extends Error {
  override readonly name = "EmitError";

  constructor(
    /** One of the protocol's error codes; `NO_ANSWER` where none came. */
    readonly code: string,
    message: string,
    /** The HTTP status; 0 where no answer came. With 0 and with 504 `OUTCOME_UNKNOWN` the event may have been published. */
    readonly status: number,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** What became of one emit of a batch. */
export type EmitResult = Emitted | EmitError;

interface Answer {
  statusCode: number;
  data?: { id: string; epoch?: string; offset?: number };
  duplicate?: boolean;
  errors?: ErrorBody[];
}

interface Item {
  body: string;
  result?: EmitResult;
}

/** Emits events from a backend. Keep one for all calls: connections are reused. */
export class Emitter {
  #url: string;
  #options: EmitterOptions;

  /** `url` is that of the broker: `https://…`. */
  constructor(url: string | URL, options: EmitterOptions) {
    this.#url = new URL(url).href.replace(/^ws/, "http").replace(/\/$/, "");
    this.#options = options;
  }

  /** Tells an event's subscribers one piece of JSON. Throws an {@link EmitError}. */
  async emit(name: string, data: unknown, options: EmitOptions = {}): Promise<Emitted> {
    const item = itemOf({ name, data, idempotencyKey: options.idempotencyKey });
    await this.#send([item], options.signal);
    if (item.result instanceof EmitError) throw item.result;
    return item.result!;
  }

  /**
   * Emits many, in as few calls as their size allows. One result each, in order: a bad one does not spoil the others. They
   * are told in order, but for one that had to be tried again.
   */
  async emitAll(emits: Iterable<Emit>, options: { signal?: AbortSignal } = {}): Promise<EmitResult[]> {
    const items = Array.from(emits, itemOf);
    for (const batch of batches(items, ({ body }) => body, BATCH, BATCH_BYTES)) await this.#send(batch, options.signal);
    return items.map(({ result }) => result!);
  }

  /** Sends until each item has a result that another try would not mend. */
  async #send(items: Item[], signal: AbortSignal | undefined): Promise<void> {
    const { retries = 4, longestWait = 30_000 } = this.#options;
    const backoff = new Backoff();
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted();
      const wait = await this.#try(items, signal);
      items = items.filter(({ result }) => isWorthARetry(result));
      if (!items.length || attempt >= retries || (wait ?? 0) > longestWait) return;
      await pause(wait ?? backoff.next() / 5, signal);
    }
  }

  /** One request. Gives the wait that the node asks for. */
  async #try(items: Item[], signal: AbortSignal | undefined): Promise<number | undefined> {
    const { token, timeout = 10_000 } = this.#options;
    const late = AbortSignal.timeout(timeout);
    const stop = signal ? AbortSignal.any([signal, late]) : late;
    const api = typeof token === "string" ? token : await beforeStop(stop, token());
    const url = this.#urlFor(api);
    try {
      const response = await (this.#options.fetch ?? fetch)(url, {
        method: "POST",
        headers: { "content-type": "application/json", "x-am-authorization": api },
        body: items.length === 1 ? items[0]!.body : `[${items.map(({ body }) => body)}]`,
        signal: stop,
      });
      const answer = answerOf(await response.text());
      items.forEach((item, index) => {
        item.result = resultOf((Array.isArray(answer) ? answer[index] : answer) ?? { statusCode: 0 }, response.status);
      });
      return retryAfter(response.headers.get("retry-after"));
    } catch (cause) {
      signal?.throwIfAborted();
      const error = new EmitError("NO_ANSWER", "no answer came: the event may have been published", 0, { cause });
      for (const item of items) item.result = error;
      return undefined;
    }
  }

  #urlFor(token: string): string {
    const project = this.#options.project ?? claimsOf(token).project;
    if (typeof project !== "string") throw new TypeError("the token names no project: pass one in the options");
    return `${this.#url}/api/system-api/${encodeURIComponent(project)}/emit-event-ws`;
  }
}

function itemOf({ name, data, idempotencyKey = crypto.randomUUID() }: Emit): Item {
  const eventData = JSON.stringify(data) as string | undefined;
  if (eventData === undefined) throw new TypeError("event data must be what JSON can say");
  return { body: `{"name":${JSON.stringify(name)},"eventData":${eventData},"idempotencyKey":${JSON.stringify(idempotencyKey)}}` };
}

function resultOf({ statusCode, data, duplicate, errors }: Answer, status: number): EmitResult {
  if (data) return { ...data, duplicate: duplicate === true };
  const { code, message } = errors?.[0] ?? { code: "UNKNOWN", message: `the answer has status ${status}` };
  return new EmitError(code, message, statusCode || status);
}

/** An answer's JSON; nothing of what is none, such as the page of a proxy: then the HTTP status speaks. */
function answerOf(text: string): Answer | Answer[] {
  try {
    return Object(JSON.parse(text)) as Answer | Answer[];
  } catch {
    return { statusCode: 0 };
  }
}

/**
 * Whether another try can succeed: over a rate, a failure behind the endpoint, or no answer at all. After 504 and 0 the event
 * may have been published; every item has an idempotency key, so that the second try does not deliver it twice.
 */
function isWorthARetry(result: EmitResult | undefined): boolean {
  return result instanceof EmitError && [0, 429, 502, 503, 504].includes(result.status);
}

/** What a promise gives, unless it takes too long. */
function beforeStop<T>(stop: AbortSignal, promise: T | Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    stop.addEventListener("abort", () => reject(stop.reason), { once: true });
    Promise.resolve(promise).then(resolve, reject);
  });
}

function pause(wait: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    };
    const timer = setTimeout(done, wait);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
