/** Keeps tokens fresh: fetches them, keeps them for reconnects, and renews those of an open session before they end. */
import { Backoff } from "./backoff.js";
import { CarillonError, firstError } from "./errors.js";
import type { Session } from "./session.js";
import { wireTokens } from "./socket.js";
import { expiryOf, lifetimeOf, type Tokens, type TokenSource } from "./tokens.js";

/** How long the application may take to fetch tokens, in milliseconds. */
const FETCH_MS = 30_000;

/**
 * Tokens are renewed this long before their end, in milliseconds, or when half of their life is left if that is less: the
 * timers of a hidden page run once a minute.
 */
const MARGIN_MS = 120_000;

/** The least wait before a renewal and the longest sleep of a timer, in milliseconds. */
const LEAST_MS = 500;
const LONGEST_MS = 2 ** 31 - 1;

export class TokenKeeper {
  #tokens: Tokens | undefined;
  #renewAt = Infinity;
  #session: Session | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #backoff = new Backoff();
  #isRenewing = false;
  #deadlines = new Set<ReturnType<typeof setTimeout>>();

  constructor(
    private source: TokenSource,
    private onProblem: (error: CarillonError) => void,
  ) {}

  /** Tokens for a new session: those that are there, unless they are due; `null` when there are none. */
  async current(): Promise<Tokens | null> {
    if (this.#tokens && Date.now() < this.#renewAt) return this.#tokens;
    const tokens = await this.#fetch();
    if (tokens) this.#keep(tokens);
    return tokens;
  }

  /** The node does not take these. */
  forget(): void {
    this.#tokens = undefined;
  }

  onConnected(session: Session): void {
    this.#session = session;
    this.#backoff.reset();
    this.check();
  }

  onAway(): void {
    this.#session = undefined;
    clearTimeout(this.#timer);
  }

  /** Waits for no tokens any more. */
  cancel(): void {
    this.onAway();
    for (const timer of this.#deadlines) clearTimeout(timer);
  }

  /** Renews what is due by the clock: a timer may have slept with the machine. */
  check(): void {
    const wait = this.#renewAt - Date.now();
    clearTimeout(this.#timer);
    if (!this.#session || this.#isRenewing || wait === Infinity) return;
    if (wait <= 0) void this.#renew(this.#session);
    else this.#timer = setTimeout(() => this.check(), Math.min(wait, LONGEST_MS));
  }

  #keep(tokens: Tokens): void {
    this.#tokens = tokens;
    const now = Date.now();
    const lifetime = lifetimeOf(tokens, now);
    this.#renewAt = lifetime === undefined ? Infinity : now + Math.max(LEAST_MS, lifetime - Math.min(MARGIN_MS, lifetime / 2));
  }

  async #fetch(): Promise<Tokens | null> {
    let timer!: ReturnType<typeof setTimeout>;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new CarillonError("TOKENS_FAILED", "tokens() takes too long")), FETCH_MS);
    });
    this.#deadlines.add(timer);
    try {
      return (await Promise.race([this.source(), late])) ?? null;
    } finally {
      clearTimeout(timer);
      this.#deadlines.delete(timer);
    }
  }

  async #renew(session: Session): Promise<void> {
    this.#isRenewing = true;
    try {
      const tokens = await this.#fetch();
      if (session !== this.#session) return;
      if (!tokens) throw new CarillonError("NO_TOKENS", "tokens() gave none: the session ends with those it has");
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
      throw new CarillonError("TOKENS_NOT_RENEWED", "tokens() gave tokens that end no later than those in use");
    }
    return new Promise((resolve, reject) => {
      session.ask("REFRESH", `"tokens":${JSON.stringify(wireTokens(tokens))}`, (message) => {
        if (message?.errors) return reject(firstError(message.errors));
        if (message) this.#keep(tokens);
        resolve();
      });
    });
  }
}

/** What is told of a `tokens()` that throws or rejects. */
export function tokensFailed(cause: unknown): CarillonError {
  return new CarillonError("TOKENS_FAILED", `tokens() failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
}
