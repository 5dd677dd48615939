/** Fetches tokens, stores them for reconnects, and renews those of an open session before they expire. */
import { Backoff } from "./backoff.js";
import { CarillonError, firstError } from "./errors.js";
import type { Session } from "./session.js";
import { wireTokens } from "./socket.js";
import { expiryOf, lifetimeOf, type Tokens, type TokenSource } from "./tokens.js";

/** Maximum time for the application to fetch tokens, in milliseconds. */
const FETCH_MS = 30_000;

/**
 * Tokens are renewed this long before they expire, in milliseconds, or at half of their lifetime if that is less. Two
 * minutes, because the timers of a hidden page run once a minute.
 */
const MARGIN_MS = 120_000;

/** The shortest wait before a renewal, in milliseconds. */
const MIN_WAIT_MS = 500;

/** The longest wait that a timer can have, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export class TokenKeeper {
  #tokens: Tokens | undefined;
  #renewAt = Infinity;
  #session: Session | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #backoff = new Backoff();
  #isRenewing = false;
  #fetchTimers = new Set<ReturnType<typeof setTimeout>>();

  constructor(
    private source: TokenSource,
    private onProblem: (error: CarillonError) => void,
  ) {}

  /**
   * Tokens for a new session: the stored ones unless they must be renewed, otherwise new ones. `null` if there are
   * none.
   */
  async current(): Promise<Tokens | null> {
    if (this.#tokens && Date.now() < this.#renewAt) return this.#tokens;
    const tokens = await this.#fetch();
    if (tokens) this.#store(tokens);
    return tokens;
  }

  /** Drops the stored tokens, because the node refused them. */
  forget(): void {
    this.#tokens = undefined;
  }

  onConnected(session: Session): void {
    this.#session = session;
    this.#backoff.reset();
    this.check();
  }

  onDisconnected(): void {
    this.#session = undefined;
    clearTimeout(this.#timer);
  }

  /** Stops all timers. */
  cancel(): void {
    this.onDisconnected();
    for (const timer of this.#fetchTimers) clearTimeout(timer);
  }

  /** Renews tokens that are due by the clock. Timers do not run while the machine sleeps. */
  check(): void {
    const wait = this.#renewAt - Date.now();
    clearTimeout(this.#timer);
    if (!this.#session || this.#isRenewing || wait === Infinity) return;
    if (wait <= 0) void this.#renew(this.#session);
    else this.#timer = setTimeout(() => this.check(), Math.min(wait, MAX_TIMER_MS));
  }

  #store(tokens: Tokens): void {
    this.#tokens = tokens;
    const now = Date.now();
    const lifetime = lifetimeOf(tokens, now);
    this.#renewAt =
      lifetime === undefined ? Infinity : now + Math.max(MIN_WAIT_MS, lifetime - Math.min(MARGIN_MS, lifetime / 2));
  }

  async #fetch(): Promise<Tokens | null> {
    let timer!: ReturnType<typeof setTimeout>;
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new CarillonError("TOKENS_FAILED", "tokens() took too long")), FETCH_MS);
    });
    this.#fetchTimers.add(timer);
    try {
      return (await Promise.race([this.source(), timeout])) ?? null;
    } finally {
      clearTimeout(timer);
      this.#fetchTimers.delete(timer);
    }
  }

  async #renew(session: Session): Promise<void> {
    this.#isRenewing = true;
    try {
      const tokens = await this.#fetch();
      if (session !== this.#session) return;
      if (!tokens) throw new CarillonError("NO_TOKENS", "tokens() returned none, so the session will end");
      await this.#refresh(session, tokens);
      this.#backoff.reset();
    } catch (cause) {
      this.#renewAt = Date.now() + this.#backoff.next();
      this.onProblem(cause instanceof CarillonError ? cause : tokensFailed(cause));
    } finally {
      this.#isRenewing = false;
      this.check();
    }
  }

  #refresh(session: Session, tokens: Tokens): Promise<void> {
    const [old, end] = [this.#tokens && expiryOf(this.#tokens), expiryOf(tokens)];
    if (old !== undefined && end !== undefined && end <= old) {
      throw new CarillonError("TOKENS_NOT_RENEWED", "tokens() returned tokens that expire no later than those in use");
    }
    return new Promise((resolve, reject) => {
      session.request("REFRESH", `"tokens":${JSON.stringify(wireTokens(tokens))}`, (message) => {
        if (message?.errors) return reject(firstError(message.errors));
        if (message) this.#store(tokens);
        resolve();
      });
    });
  }
}

/** The error of a `tokens()` that throws or rejects. */
export function tokensFailed(cause: unknown): CarillonError {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new CarillonError("TOKENS_FAILED", `tokens() failed: ${message}`, { cause });
}
