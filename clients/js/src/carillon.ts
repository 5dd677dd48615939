import { Backoff } from "./backoff.js";
import { verdictOf } from "./codes.js";
import type { CarillonEvents, CarillonOptions, ConnectionState, DisconnectReason } from "./connection_state.js";
import { watchEnvironment } from "./environment.js";
import { CarillonError } from "./errors.js";
import { Events } from "./events.js";
import { Registrations } from "./registrations.js";
import { Session, type SessionEnd } from "./session.js";
import { openSocket, type WebSocketConstructor } from "./socket.js";
import { Subscription, type EndReason, type SubscriptionOptions } from "./subscription.js";
import { TokenKeeper, tokensFailed } from "./token_keeper.js";
import type { Tokens } from "./tokens.js";
import type { NodeMessage } from "./wire.js";

/** How often in a row a node may refuse tokens before the client stops. */
const MOST_REFUSALS = 5;

/** How long a session must stand before what went wrong before it is forgotten, in milliseconds. */
const STEADY_MS = 10_000;

/** The least time between two attempts that are not waited for, in milliseconds. */
const LEAST_PAUSE_MS = 1_000;

/** A client's connection to a broker, for as long as the application wants it: it comes back by itself. */
export class Carillon extends Events<CarillonEvents> {
  #url: string;
  #options: CarillonOptions;
  #state: ConnectionState = { status: "connecting" };
  #session: Session | undefined;
  #registrations = new Registrations();
  #tokens: TokenKeeper;
  #backoff = new Backoff();
  #refusals = 0;
  #pace = 1;
  #attempt = 0;
  #attemptedAt = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #mayHurry = false;
  #endReason: EndReason | undefined;
  #closing: Promise<void> | undefined;
  #onClosed: ((closeCode?: number, message?: string) => void) | undefined;
  #release: () => void;

  /**
   * Connects at once. `url` is the broker's address: `wss://…`, or `https://…` for the same. Without a WebSocket, as in
   * server-side rendering, it does not throw: the state becomes `disconnected` with the error `NO_WEBSOCKET`.
   */
  constructor(url: string | URL, options: CarillonOptions) {
    super();
    this.#url = new URL(url).href.replace(/^http/, "ws");
    this.#options = options;
    this.#tokens = new TokenKeeper(options.tokens, (error) => this.emit("problem", error));
    const release = watchEnvironment((isOnline) => this.#onAwake(isOnline));
    const onAbort = () => void this.close();
    options.signal?.addEventListener("abort", onAbort);
    this.#release = () => {
      release();
      options.signal?.removeEventListener("abort", onAbort);
    };
    if (options.signal?.aborted) void this.close();
    else void this.#open();
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /**
   * Hears an event, from when the node has registered it until {@link Subscription.unsubscribe}. `T` is what the
   * application knows of the event data; it is not checked. Throws when the condition can't be written as JSON.
   */
  subscribe<T = unknown>(event: string, options: SubscriptionOptions = {}): Subscription<T> {
    const remove = (which: Subscription<any>) => this.#registrations.remove(which, "unsubscribed");
    const subscription = new Subscription<T>(event, options, remove);
    const { signal } = options;
    if (this.#endReason || signal?.aborted) {
      subscription.onEnded(this.#endReason ?? "unsubscribed");
      return subscription;
    }
    if (signal) {
      const onAbort = () => void subscription.unsubscribe();
      const release = () => signal.removeEventListener("abort", onAbort);
      signal.addEventListener("abort", onAbort);
      subscription.on("ended", release);
      subscription.on("refused", release);
    }
    this.#registrations.add(subscription);
    return subscription;
  }

  /** Ends all subscriptions and the connection. Resolves when the node has said goodbye, or has not for 5 s. */
  close(): Promise<void> {
    if (this.#closing) return this.#closing;
    let resolve: () => void;
    this.#closing = new Promise((done) => (resolve = done)); // there before a listener of the end asks for it
    const session = this.#session;
    this.#session = undefined;
    this.#finish("closed");
    this.#onClosed = (closeCode = 1000, message = "closed by the application") => {
      this.#become({ status: "disconnected", reason: { closeCode, message }, willRetry: false });
      this.forgetListeners();
      resolve();
    };
    if (session) session.close();
    else this.#onClosed();
    return this.#closing;
  }

  async #open(): Promise<void> {
    const attempt = ++this.#attempt;
    const isCurrent = () => attempt === this.#attempt && !this.#endReason;
    this.#attemptedAt = Date.now();
    this.#become({ status: "connecting" });
    const Socket = this.#options.WebSocket ?? (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket;
    if (!Socket) await undefined; // the application can add its listeners first
    if (!isCurrent()) return; // a listener closed it
    if (!Socket) return this.#stopWith(1006, "NO_WEBSOCKET", "there is no WebSocket here: pass one in the options, such as that of the package ws");
    let tokens: Tokens | null;
    try {
      tokens = await this.#tokens.current();
    } catch (cause) {
      const error = cause instanceof CarillonError ? cause : tokensFailed(cause);
      if (isCurrent()) this.#comeBack({ closeCode: 4401, message: error.message, error }, this.#backoff.next());
      return;
    }
    if (!isCurrent()) return;
    if (!tokens) return this.#stopWith(4401, "NO_TOKENS", "tokens() gave none");
    this.#session = this.#openSession(Socket, tokens);
  }

  #openSession(Socket: WebSocketConstructor, tokens: Tokens): Session {
    const { headers = false, parse = JSON.parse } = this.#options;
    const open = () => openSocket(Socket, this.#url, tokens, headers);
    const session: Session = new Session(open, parse, {
      onConnected: (sessionId, node) => {
        if (this.#endReason) return;
        this.#become({ status: "connected", sessionId, node });
        if (this.#session !== session) return; // a listener has closed it
        this.#registrations.onConnected(session);
        this.#tokens.onConnected(session);
      },
      onMessage: (message, text) => this.#onMessage(message, text),
      onProblem: (error) => this.emit("problem", error),
      onEnd: (end) => this.#onEnd(end),
    }, this.#pace);
    return session;
  }

  #onMessage({ type, response = {} }: NodeMessage, text: string): void {
    if (type === "NOTIFICATION") this.#registrations.onNotification(response, text);
    else if (type === "GAP") this.#registrations.onGap(response);
  }

  #onEnd({ code, reason, error, lasted, retryAfter }: SessionEnd): void {
    this.#session = undefined;
    if (this.#endReason) return this.#onClosed?.(code, reason || undefined);
    if (lasted >= STEADY_MS) {
      this.#backoff.reset();
      this.#refusals = 0;
    }
    const why: DisconnectReason = { closeCode: code, message: reason || error?.message || "the connection broke" };
    if (error) why.error = error;
    // What no socket takes is a token: no subprotocol has its characters.
    const verdict = error?.code === "SOCKET_FAILED" ? "tokens" : verdictOf(code);
    if (verdict === "tokens") {
      this.#tokens.forget();
      this.#refusals++;
    }
    if (verdict === "stop" || this.#refusals >= MOST_REFUSALS) return this.#stop(why);
    this.#registrations.onAway();
    this.#tokens.onAway();
    if (verdict === "slower") {
      this.#backoff.slower();
      this.#pace = Math.max(this.#pace / 2, 0.1);
    }
    if (retryAfter !== undefined) return this.#comeBack(why, spread(retryAfter), false);
    const isFirstRefusal = verdict === "tokens" && this.#refusals === 1;
    this.#comeBack(why, isFirstRefusal ? 0 : this.#backoff.next(), verdict !== "slower");
  }

  #comeBack(reason: DisconnectReason, wait: number, mayHurry = true): void {
    if (this.#endReason) return; // a listener has closed it
    this.#mayHurry = mayHurry;
    this.#retry = setTimeout(() => void this.#open(), wait);
    this.#become({ status: "disconnected", reason, willRetry: true, retryAt: Date.now() + wait });
  }

  /**
   * The page is seen again or online again: a wait ends, a connection is doubted, and clocks may have gone on. An attempt
   * that began without a network may hang in it.
   */
  #onAwake(isOnline: boolean): void {
    this.#tokens.check();
    const { status } = this.#state;
    if (status === "connected") return this.#session?.probe();
    const mayOpen = status === "connecting" ? isOnline : this.#mayHurry;
    if (!mayOpen || Date.now() - this.#attemptedAt < LEAST_PAUSE_MS) return;
    clearTimeout(this.#retry);
    this.#session?.abandon();
    this.#session = undefined;
    void this.#open();
  }

  #stopWith(closeCode: number, code: string, message: string): void {
    this.#stop({ closeCode, message, error: new CarillonError(code, message) });
  }

  /** It is over without the application's doing. */
  #stop(reason: DisconnectReason): void {
    this.#closing = Promise.resolve();
    this.#finish("stopped");
    this.#become({ status: "disconnected", reason, willRetry: false });
    this.forgetListeners();
  }

  #finish(reason: EndReason): void {
    this.#endReason = reason;
    clearTimeout(this.#retry);
    this.#release();
    this.#tokens.cancel();
    this.#registrations.endAll(reason);
  }

  #become(state: ConnectionState): void {
    if (this.#state.status === "connecting" && state.status === "connecting") return;
    this.#state = state;
    this.emit("state", state);
    if (state.status === "connecting") this.emit("connecting");
    else if (state.status === "connected") this.emit("connected", state);
    else this.emit("disconnected", state.reason, state.willRetry);
  }
}

/** A wait that a node named, up to a fifth longer: it may have named it to many. */
function spread(wait: number): number {
  return Math.max(wait, LEAST_PAUSE_MS) * (1 + Math.random() / 5);
}
