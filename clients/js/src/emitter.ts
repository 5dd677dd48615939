import { Backoff } from "./backoff.js";
import { retryAfter } from "./codes.js";
import type { ErrorBody } from "./errors.js";
import { claimsOf } from "./tokens.js";
import { batches } from "./wire.js";

/** Maximum emits per call: the node's `limits.emit_batch`. */
const BATCH = 1_000;

/** Maximum bytes per call: the node's `limits.emit_bytes`, less the brackets. */
const BATCH_BYTES = 262_000;

export interface EmitterOptions {
  /** The API token, with the scope `emit`, or a function that returns one for each call. */
  token: string | (() => string | Promise<string>);
  /** The project. Default: the project of the token. */
  project?: string;
  /** Maximum time for one attempt, with the fetching of the token, in milliseconds. Default: 10,000. */
  timeout?: number;
  /** Maximum retries of a call. Default: 4. */
  retries?: number;
  /** The longest wait that a node may ask for, in milliseconds. If it is longer, the call fails. Default: 30,000. */
  longestWait?: number;
  /** Used instead of the global `fetch`. */
  fetch?: typeof fetch;
}

export interface EmitOptions {
  /**
   * An emit with the same key is not delivered again. Without a key, each call gets a random one, so its retries are
   * safe.
   */
  idempotencyKey?: string;
  /** Aborts the call. */
  signal?: AbortSignal;
}

/** One emit of a batch. */
export interface Emit {
  name: string;
  data: unknown;
  idempotencyKey?: string;
}

/** An emit that the broker accepted. */
export interface Emitted {
  id: string;
  /** Whether an emit with the same key was accepted before. Then this one was not delivered. */
  duplicate: boolean;
  epoch?: string;
  offset?: number;
}

/** An emit that the broker refused, or that it may not have received. */
export class EmitError extends Error {
  override readonly name = "EmitError";

  constructor(
    /** An error code of the protocol, or `NO_ANSWER`. */
    readonly code: string,
    message: string,
    /** The HTTP status; 0 without an answer. After 0 and 504 `OUTCOME_UNKNOWN` the event may have been published. */
    readonly status: number,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** The result of one emit of a batch. */
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

/** Emits events from a backend. Use one emitter for all calls: it reuses connections. */
export class Emitter {
  #url: string;
  #options: EmitterOptions;

  /** `url` is the broker's address: `https://…`. */
  constructor(url: string | URL, options: EmitterOptions) {
    this.#url = new URL(url).href.replace(/^ws/, "http").replace(/\/$/, "");
    this.#options = options;
  }

  /** Emits an event. `data` is any JSON value. Throws an {@link EmitError}. */
  async emit(name: string, data: unknown, options: EmitOptions = {}): Promise<Emitted> {
    const item = itemOf({ name, data, idempotencyKey: options.idempotencyKey });
    await this.#send([item], options.signal);
    if (item.result instanceof EmitError) throw item.result;
    return item.result!;
  }

  /**
   * Emits many events, in as few calls as their size allows. Returns one result per emit, in order; a refused one does
   * not affect the others. They are published in order, except for retried ones.
   */
  async emitAll(emits: Iterable<Emit>, options: { signal?: AbortSignal } = {}): Promise<EmitResult[]> {
    const items = Array.from(emits, itemOf);
    for (const batch of batches(items, ({ body }) => body, BATCH, BATCH_BYTES)) {
      await this.#send(batch, options.signal);
    }
    return items.map(({ result }) => result!);
  }

  /** Sends until no item has an error that a retry may solve. */
  async #send(items: Item[], signal: AbortSignal | undefined): Promise<void> {
    const { retries = 4, longestWait = 30_000 } = this.#options;
    const backoff = new Backoff();
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted();
      const wait = await this.#attempt(items, signal);
      items = items.filter(({ result }) => canRetry(result));
      if (!items.length || attempt >= retries || (wait ?? 0) > longestWait) return;
      await pause(wait ?? backoff.next() / 5, signal);
    }
  }

  /** One request. Returns the wait that the node asks for, in milliseconds. */
  async #attempt(items: Item[], signal: AbortSignal | undefined): Promise<number | undefined> {
    const { token, timeout = 10_000 } = this.#options;
    const deadline = AbortSignal.timeout(timeout);
    const stop = signal ? AbortSignal.any([signal, deadline]) : deadline;
    const api = typeof token === "string" ? token : await beforeAbort(stop, token());
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
  if (eventData === undefined) throw new TypeError("event data must be a JSON value");
  const key = JSON.stringify(idempotencyKey);
  return { body: `{"name":${JSON.stringify(name)},"eventData":${eventData},"idempotencyKey":${key}}` };
}

function resultOf({ statusCode, data, duplicate, errors }: Answer, status: number): EmitResult {
  if (data) return { ...data, duplicate: duplicate === true };
  const { code, message } = errors?.[0] ?? { code: "UNKNOWN", message: `the answer has status ${status}` };
  return new EmitError(code, message, statusCode || status);
}

/** The JSON of an answer. An answer that is not JSON, such as a proxy's page, has only its HTTP status. */
function answerOf(text: string): Answer | Answer[] {
  try {
    return Object(JSON.parse(text)) as Answer | Answer[];
  } catch {
    return { statusCode: 0 };
  }
}

/**
 * Whether a retry can succeed: too many requests, a failure behind the endpoint, or no answer. After 504 and 0 the
 * event may have been published. Every item has an idempotency key, so a retry does not deliver it twice.
 */
function canRetry(result: EmitResult | undefined): boolean {
  return result instanceof EmitError && [0, 429, 502, 503, 504].includes(result.status);
}

/** The result of a promise, or a rejection if `stop` aborts first. */
function beforeAbort<T>(stop: AbortSignal, promise: T | Promise<T>): Promise<T> {
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
