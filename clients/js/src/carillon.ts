import { Backoff } from "./backoff.js";
import { reactionTo } from "./codes.js";
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

/** The client stops after so many refusals of tokens in a row. */
const MAX_REFUSALS = 5;

/** After a session of this duration, in milliseconds, earlier failures no longer count. */
const STABLE_MS = 10_000;

/** Minimum time between two attempts that skip the wait, in milliseconds. */
const MIN_PAUSE_MS = 1_000;

const NO_WEBSOCKET = "there is no WebSocket here: pass one in the options, such as that of the package ws";

/** A client of a broker. It reconnects by itself until it is closed. */
export class Carillon extends Events<CarillonEvents> {
  #url: string;
  #options: CarillonOptions;
  #state: ConnectionState = { status: "connecting" };
  #session: Session | undefined;
  #registrations = new Registrations();
  #tokens: TokenKeeper;
  #backoff = new Backoff();
  #refusals = 0;
  #rate = 1;
  #attempt = 0;
  #attemptedAt = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #canSkipWait = false;
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
   * Subscribes to an event until {@link Subscription.unsubscribe}. Notifications arrive from the event `registered` on.
   * `T` is the type that the application expects; it is not checked. Throws if the condition cannot be written as JSON.
   */
  subscribe<T = unknown>(event: string, options: SubscriptionOptions = {}): Subscription<T> {
    const remove = (ended: Subscription<any>) => this.#registrations.remove(ended, "unsubscribed");
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

  /** Ends all subscriptions and the connection. Resolves after the close handshake, or after 5 s. */
  close(): Promise<void> {
    if (this.#closing) return this.#closing;
    let resolve: () => void;
    this.#closing = new Promise((done) => (resolve = done)); // set first: a listener may call close() again
    const session = this.#session;
    this.#session = undefined;
    this.#finish("closed");
    this.#onClosed = (closeCode = 1000, message = "closed by the application") => {
      this.#setState({ status: "disconnected", reason: { closeCode, message }, willRetry: false });
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
    this.#setState({ status: "connecting" });
    const Socket = this.#options.WebSocket ?? (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket;
    if (!Socket) await undefined; // the application can add its listeners first
    if (!isCurrent()) return; // a listener closed it
    if (!Socket) return this.#stopWith(1006, "NO_WEBSOCKET", NO_WEBSOCKET);
    let tokens: Tokens | null;
    try {
      tokens = await this.#tokens.current();
    } catch (cause) {
      const error = cause instanceof CarillonError ? cause : tokensFailed(cause);
      if (isCurrent()) this.#reconnectAfter({ closeCode: 4401, message: error.message, error }, this.#backoff.next());
      return;
    }
    if (!isCurrent()) return;
    if (!tokens) return this.#stopWith(4401, "NO_TOKENS", "tokens() returned none");
    this.#session = this.#openSession(Socket, tokens);
  }

  #openSession(Socket: WebSocketConstructor, tokens: Tokens): Session {
    const { headers = false, parse = JSON.parse } = this.#options;
    const open = () => openSocket(Socket, this.#url, tokens, headers);
    const session: Session = new Session(open, parse, {
      onConnected: (sessionId, node) => {
        if (this.#endReason) return;
        this.#setState({ status: "connected", sessionId, node });
        if (this.#session !== session) return; // a listener closed it
        this.#registrations.onConnected(session);
        this.#tokens.onConnected(session);
      },
      onMessage: (message, text) => this.#onMessage(message, text),
      onProblem: (error) => this.emit("problem", error),
      onEnd: (end) => this.#onEnd(end),
    }, this.#rate);
    return session;
  }

  #onMessage({ type, response = {} }: NodeMessage, text: string): void {
    if (type === "NOTIFICATION") this.#registrations.onNotification(response, text);
    else if (type === "GAP") this.#registrations.onGap(response);
  }

  #onEnd({ code, reason, error, duration, retryAfter }: SessionEnd): void {
    this.#session = undefined;
    if (this.#endReason) return this.#onClosed?.(code, reason || undefined);
    if (duration >= STABLE_MS) {
      this.#backoff.reset();
      this.#refusals = 0;
    }
    const message = reason || error?.message || "the connection broke";
    const disconnect: DisconnectReason = { closeCode: code, message };
    if (error) disconnect.error = error;
    // A WebSocket throws if a token has characters that a subprotocol cannot have.
    const reaction = error?.code === "SOCKET_FAILED" ? "tokens" : reactionTo(code);
    if (reaction === "tokens") {
      this.#tokens.forget();
      this.#refusals++;
    }
    if (reaction === "stop" || this.#refusals >= MAX_REFUSALS) return this.#stop(disconnect);
    this.#registrations.onDisconnected();
    this.#tokens.onDisconnected();
    if (reaction === "slower") {
      this.#backoff.slower();
      this.#rate = Math.max(this.#rate / 2, 0.1);
    }
    if (retryAfter !== undefined) return this.#reconnectAfter(disconnect, spread(retryAfter), false);
    const isFirstRefusal = reaction === "tokens" && this.#refusals === 1;
    this.#reconnectAfter(disconnect, isFirstRefusal ? 0 : this.#backoff.next(), reaction !== "slower");
  }

  #reconnectAfter(reason: DisconnectReason, wait: number, canSkipWait = true): void {
    if (this.#endReason) return; // a listener closed it
    this.#canSkipWait = canSkipWait;
    this.#retry = setTimeout(() => void this.#open(), wait);
    this.#setState({ status: "disconnected", reason, willRetry: true, retryAt: Date.now() + wait });
  }

  /**
   * The page is visible or online again. Renews tokens that are due by now, probes an open connection, and skips a
   * wait. An attempt that started offline may hang, so it starts again once the browser is online.
   */
  #onAwake(isOnline: boolean): void {
    this.#tokens.check();
    const { status } = this.#state;
    if (status === "connected") return this.#session?.probe();
    const mayOpen = status === "connecting" ? isOnline : this.#canSkipWait;
    if (!mayOpen || Date.now() - this.#attemptedAt < MIN_PAUSE_MS) return;
    clearTimeout(this.#retry);
    this.#session?.abandon();
    this.#session = undefined;
    void this.#open();
  }

  #stopWith(closeCode: number, code: string, message: string): void {
    this.#stop({ closeCode, message, error: new CarillonError(code, message) });
  }

  /** Stops the client for another reason than `close()`. */
  #stop(reason: DisconnectReason): void {
    this.#closing = Promise.resolve();
    this.#finish("stopped");
    this.#setState({ status: "disconnected", reason, willRetry: false });
    this.forgetListeners();
  }

  #finish(reason: EndReason): void {
    this.#endReason = reason;
    clearTimeout(this.#retry);
    this.#release();
    this.#tokens.cancel();
    this.#registrations.endAll(reason);
  }

  #setState(state: ConnectionState): void {
    if (this.#state.status === "connecting" && state.status === "connecting") return;
    this.#state = state;
    this.emit("state", state);
    if (state.status === "connecting") this.emit("connecting");
    else if (state.status === "connected") this.emit("connected", state);
    else this.emit("disconnected", state.reason, state.willRetry);
  }
}

/** The wait that a node named, up to a fifth longer, because it may have named the same one to many clients. */
function spread(wait: number): number {
  return Math.max(wait, MIN_PAUSE_MS) * (1 + Math.random() / 5);
}
