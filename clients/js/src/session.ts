/**
 * One WebSocket, from its opening to its end: requests and answers, the rate of messages, and the detection of dead
 * peers. Knows nothing of subscriptions and reconnects.
 */
import { retryAfter, retryHint } from "./codes.js";
import { CarillonError, firstError } from "./errors.js";
import { abandonSocket, listenToNodeSocket, type WebSocketLike } from "./socket.js";
import type { NodeMessage } from "./wire.js";

/** Maximum time from opening a socket to CONNECTED, in milliseconds. */
const OPEN_MS = 15_000;

/** Maximum time for an answer, in milliseconds. Then the client sends a probe. */
const ANSWER_MS = 10_000;

/**
 * A timer that is later than this, in milliseconds, says nothing about the peer: the page was frozen, and answers wait
 * behind it.
 */
const LATE_MS = 2_000;

/** Maximum time for the close handshake, in milliseconds. */
const CLOSE_MS = 5_000;

/** Ping intervals without a message after which the client sends a probe. The node uses the same number. */
const SILENT_INTERVALS = 2.5;

/** Maximum burst, and maximum messages per second: together below the 50 per second that a node accepts. */
const RATE = 20;

/** How a session ended. */
export interface SessionEnd {
  code: number;
  reason: string;
  /** The node's error about the tokens. */
  error?: CarillonError;
  /** How long the session was connected, in milliseconds. */
  duration: number;
  /** The wait that the node asks for, in milliseconds. */
  retryAfter?: number;
}

/** The callbacks of a session. */
export interface SessionHandlers {
  onConnected(sessionId: string, node: string): void;
  onMessage(message: NodeMessage, text: string): void;
  onProblem(error: CarillonError): void;
  onEnd(end: SessionEnd): void;
}

type Answer = (message: NodeMessage | undefined) => void;

export class Session {
  #socket: WebSocketLike | undefined;
  #isOver = false;
  #connectedAt = 0;
  #pingMs = 0;
  #receivedAt = Date.now();
  #requestedAt = 0;
  #probedAt = 0;
  #isSecondProbe = false;
  #watch: ReturnType<typeof setTimeout> | undefined;
  #closeTimer: ReturnType<typeof setTimeout> | undefined;
  #answers = new Map<string, Answer>();
  #lastGuid = 0;
  #queue: string[] = [];
  #credit: number;
  #creditAt = Date.now();
  #sendTimer: ReturnType<typeof setTimeout> | undefined;
  #error: CarillonError | undefined;
  #refusal: Pick<SessionEnd, "code" | "reason" | "retryAfter"> | undefined;

  constructor(
    open: () => WebSocketLike,
    private parse: (text: string) => unknown,
    private handlers: SessionHandlers,
    /** The fraction of the usual message rate. */
    private rate = 1,
  ) {
    this.#credit = RATE * rate;
    try {
      this.#listen((this.#socket = open()));
    } catch (error) {
      this.#error = new CarillonError("SOCKET_FAILED", String(error), { cause: error });
      queueMicrotask(() => this.#end(1006, "the socket could not be opened"));
    }
    this.#watchAfter(OPEN_MS);
  }

  #listen(socket: WebSocketLike): void {
    socket.onmessage = ({ data }) => this.#onText(data);
    socket.onerror = () => {}; // a close event follows, and a browser gives no details
    socket.onclose = ({ code, reason }) => this.#end(code, reason || "");
    listenToNodeSocket(
      socket,
      () => this.#onReceived(),
      (status, wait) => {
        const reason = `the node answered the handshake with ${status}`;
        this.#refusal = { code: status === 429 ? 4429 : 1006, reason, retryAfter: retryAfter(wait) };
      },
    );
  }

  /** Sends a request. `answer` gets the answer, or `undefined` if the session ends first. */
  request(objType: string, members: string, answer: Answer): void {
    if (this.#isOver) return answer(undefined);
    const guid = String(++this.#lastGuid);
    if (!this.#answers.size) this.#requestedAt = Date.now();
    this.#answers.set(guid, answer);
    this.#queue.push(`{"objType":"${objType}","guid":"${guid}",${members}}`);
    this.#send();
    this.#watchAgain();
  }

  /** Sends a message that changes nothing and that the node answers at once. */
  probe(): void {
    if (this.#connectedAt && !this.#probedAt) this.#probe();
  }

  /** Starts the close handshake. `onEnd` follows when the node has answered, or after a timeout. */
  close(): void {
    this.#socket?.close(1000);
    clearTimeout(this.#watch);
    this.#closeTimer ??= setTimeout(() => this.#end(1006, "the node did not answer the close frame"), CLOSE_MS);
  }

  /** Ends the session without a close handshake and without calling `onEnd`. */
  abandon(): void {
    this.#end();
  }

  #onText(text: unknown): void {
    this.#onReceived();
    try {
      this.#onMessage(Object(this.parse(text as string)) as NodeMessage, text as string);
    } catch (cause) {
      this.handlers.onProblem(new CarillonError("INVALID_JSON", "the node sent a message that is not JSON", { cause }));
    }
  }

  #onMessage(message: NodeMessage, text: string): void {
    const answer = message.guid && this.#answers.get(message.guid);
    if (answer) {
      this.#answers.delete(message.guid!);
      answer(message);
    } else if (message.type === "CONNECTED") {
      this.#onConnected(message.response ?? {});
    } else if (message.type === "TOKEN_VALIDATION") {
      this.#error = firstError(message.errors ?? []);
    } else if (message.errors) {
      this.handlers.onProblem(firstError(message.errors));
    } else {
      this.handlers.onMessage(message, text);
    }
  }

  #onConnected({ sessionId, node, pingInterval }: Record<string, unknown>): void {
    this.#connectedAt = Date.now();
    this.#pingMs = (Number(pingInterval) || 60) * 1000;
    this.#watchAgain();
    this.handlers.onConnected(String(sessionId), String(node));
  }

  #onReceived(): void {
    this.#receivedAt = Date.now();
    this.#probedAt = 0;
    this.#isSecondProbe = false;
  }

  /** Maximum time without a message from the node, in milliseconds. */
  #maxSilence(): number {
    if (!this.#connectedAt) return OPEN_MS;
    return this.#probedAt || this.#answers.size ? ANSWER_MS : this.#pingMs * SILENT_INTERVALS;
  }

  /** The start of the current silence of the node. */
  #silentSince(): number {
    return this.#probedAt || Math.max(this.#receivedAt, this.#answers.size ? this.#requestedAt : 0);
  }

  #watchAgain(): void {
    this.#watchAfter(this.#silentSince() + this.#maxSilence() - Date.now());
  }

  #watchAfter(wait: number): void {
    clearTimeout(this.#watch);
    if (!this.#isOver && !this.#closeTimer) this.#watch = setTimeout(() => this.#check(), Math.max(wait, 100));
  }

  /** Compares clocks, because timers of background pages run late. */
  #check(): void {
    const now = Date.now();
    if (now < this.#silentSince()) this.#receivedAt = this.#requestedAt = now; // the clock was set back
    const late = now - this.#silentSince() - this.#maxSilence();
    if (late < 0) return this.#watchAgain();
    if (!this.#connectedAt) return this.#end(1006, "the node did not answer in time");
    if (!this.#probedAt) return this.#probe();
    if (late < LATE_MS || this.#isSecondProbe) return this.#end(4408, "the node is silent");
    this.#isSecondProbe = true;
    this.#probe();
  }

  #probe(): void {
    this.#probedAt = Date.now();
    this.request("UNREGISTER", '"onEvents":[]', () => {});
    this.#watchAgain();
  }

  #send(): void {
    const now = Date.now();
    const max = RATE * this.rate;
    this.#credit = Math.min(max, this.#credit + (Math.max(0, now - this.#creditAt) / 1000) * max);
    this.#creditAt = now;
    while (this.#queue.length && this.#credit >= 1) {
      this.#credit--;
      this.#socket?.send(this.#queue.shift()!);
    }
    clearTimeout(this.#sendTimer);
    if (this.#queue.length) this.#sendTimer = setTimeout(() => this.#send(), 1000 / max);
  }

  #end(code?: number, reason = ""): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const timer of [this.#watch, this.#sendTimer, this.#closeTimer]) clearTimeout(timer);
    if (this.#socket) abandonSocket(this.#socket);
    const answers = [...this.#answers.values()];
    this.#answers.clear();
    for (const answer of answers) answer(undefined);
    if (code === undefined) return;
    const duration = this.#connectedAt && Math.max(0, Date.now() - this.#connectedAt);
    const error = this.#error;
    this.handlers.onEnd({ code, reason, error, duration, retryAfter: retryHint(reason), ...this.#refusal });
  }
}
