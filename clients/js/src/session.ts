/**
 * One WebSocket, from its opening to its end: questions and their answers, the pace of messages, and the watch over a
 * peer that may be dead. Knows nothing of subscriptions, nor of what follows its end.
 */
import { retryAfter, retryHint } from "./codes.js";
import { CarillonError, firstError } from "./errors.js";
import { abandonSocket, hearNodeSocket, type WebSocketLike } from "./socket.js";
import type { NodeMessage } from "./wire.js";

/** How long a socket may take from its opening to CONNECTED, in milliseconds. */
const OPEN_MS = 15_000;

/** How long a node may take to answer, in milliseconds; then it is asked whether it is there. */
const ANSWER_MS = 10_000;

/** How late a timer may be before it says nothing about the peer: a page was frozen, and answers wait behind the timer. */
const LATE_MS = 2_000;

/** How long a node may take to say goodbye, in milliseconds. */
const GOODBYE_MS = 5_000;

/** How many ping intervals of silence raise doubt: as many as the node takes itself. */
const SILENT_INTERVALS = 2.5;

/** Messages that may go out at once, and a second: together below the 50 a second that a node takes. */
const PACE = 20;

/** How a session ended. */
export interface SessionEnd {
  code: number;
  reason: string;
  /** What the node said of the tokens. */
  error?: CarillonError;
  /** How long it was connected, in milliseconds. */
  lasted: number;
  /** The wait that the node asks for, in milliseconds. */
  retryAfter?: number;
}

/** What a session tells whoever opened it. */
export interface SessionOwner {
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
  #heardAt = Date.now();
  #askedAt = 0;
  #probedAt = 0;
  #isSecondProbe = false;
  #watch: ReturnType<typeof setTimeout> | undefined;
  #goodbye: ReturnType<typeof setTimeout> | undefined;
  #answers = new Map<string, Answer>();
  #lastGuid = 0;
  #waiting: string[] = [];
  #room: number;
  #roomAt = Date.now();
  #drain: ReturnType<typeof setTimeout> | undefined;
  #error: CarillonError | undefined;
  #refusal: Pick<SessionEnd, "code" | "reason" | "retryAfter"> | undefined;

  constructor(
    open: () => WebSocketLike,
    private parse: (text: string) => unknown,
    private owner: SessionOwner,
    /** What part of the usual number of messages is sent. */
    private pace = 1,
  ) {
    this.#room = PACE * pace;
    try {
      this.#hear((this.#socket = open()));
    } catch (error) {
      this.#error = new CarillonError("SOCKET_FAILED", String(error), { cause: error });
      queueMicrotask(() => this.#end(1006, "the socket could not be opened"));
    }
    this.#watchAfter(OPEN_MS);
  }

  #hear(socket: WebSocketLike): void {
    socket.onmessage = ({ data }) => this.#onText(data);
    socket.onerror = () => {}; // a close follows, and a browser tells nothing more
    socket.onclose = ({ code, reason }) => this.#end(code, reason || "");
    hearNodeSocket(
      socket,
      () => this.#heard(),
      (status, wait) => {
        const reason = `the node answered the handshake with ${status}`;
        this.#refusal = { code: status === 429 ? 4429 : 1006, reason, retryAfter: retryAfter(wait) };
      },
    );
  }

  /** Sends a message; `answer` is given what the node says, or nothing when the session ends before. */
  ask(objType: string, members: string, answer: Answer): void {
    if (this.#isOver) return answer(undefined);
    const guid = String(++this.#lastGuid);
    if (!this.#answers.size) this.#askedAt = Date.now();
    this.#answers.set(guid, answer);
    this.#waiting.push(`{"objType":"${objType}","guid":"${guid}",${members}}`);
    this.#send();
    this.#watchOn();
  }

  /** Asks the node whether it is there: a message that it answers at once and that changes nothing. */
  probe(): void {
    if (this.#connectedAt && !this.#probedAt) this.#probe();
  }

  /** Says goodbye. The owner is told when the node has answered, or has not for too long. */
  close(): void {
    this.#socket?.close(1000);
    clearTimeout(this.#watch);
    this.#goodbye ??= setTimeout(() => this.#end(1006, "the node said no goodbye"), GOODBYE_MS);
  }

  /** Ends it without a word to anybody. */
  abandon(): void {
    this.#end();
  }

  #onText(text: unknown): void {
    this.#heard();
    try {
      this.#onMessage(Object(this.parse(text as string)) as NodeMessage, text as string);
    } catch (cause) {
      this.owner.onProblem(new CarillonError("INVALID_JSON", "the node sent what can't be read", { cause }));
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
      this.owner.onProblem(firstError(message.errors));
    } else {
      this.owner.onMessage(message, text);
    }
  }

  #onConnected({ sessionId, node, pingInterval }: Record<string, unknown>): void {
    this.#connectedAt = Date.now();
    this.#pingMs = (Number(pingInterval) || 60) * 1000;
    this.#watchOn();
    this.owner.onConnected(String(sessionId), String(node));
  }

  #heard(): void {
    this.#heardAt = Date.now();
    this.#probedAt = 0;
    this.#isSecondProbe = false;
  }

  /** How long the node may be silent, in milliseconds. */
  #patience(): number {
    if (!this.#connectedAt) return OPEN_MS;
    return this.#probedAt || this.#answers.size ? ANSWER_MS : this.#pingMs * SILENT_INTERVALS;
  }

  /** Since when the node is silent though it should not be. */
  #silentSince(): number {
    return this.#probedAt || Math.max(this.#heardAt, this.#answers.size ? this.#askedAt : 0);
  }

  #watchOn(): void {
    this.#watchAfter(this.#silentSince() + this.#patience() - Date.now());
  }

  #watchAfter(wait: number): void {
    clearTimeout(this.#watch);
    if (!this.#isOver && !this.#goodbye) this.#watch = setTimeout(() => this.#check(), Math.max(wait, 100));
  }

  /** Compares clocks, for the timers of a page in the background come late. */
  #check(): void {
    const now = Date.now();
    if (now < this.#silentSince()) this.#heardAt = this.#askedAt = now; // the clock was set back
    const late = now - this.#silentSince() - this.#patience();
    if (late < 0) return this.#watchOn();
    if (!this.#connectedAt) return this.#end(1006, "the node did not answer in time");
    if (!this.#probedAt) return this.#probe();
    if (late < LATE_MS || this.#isSecondProbe) return this.#end(4408, "the node is silent");
    this.#isSecondProbe = true;
    this.#probe();
  }

  #probe(): void {
    this.#probedAt = Date.now();
    this.ask("UNREGISTER", '"onEvents":[]', () => {});
    this.#watchOn();
  }

  #send(): void {
    const now = Date.now();
    const most = PACE * this.pace;
    this.#room = Math.min(most, this.#room + (Math.max(0, now - this.#roomAt) / 1000) * most);
    this.#roomAt = now;
    while (this.#waiting.length && this.#room >= 1) {
      this.#room--;
      this.#socket?.send(this.#waiting.shift()!);
    }
    clearTimeout(this.#drain);
    if (this.#waiting.length) this.#drain = setTimeout(() => this.#send(), 1000 / most);
  }

  #end(code?: number, reason = ""): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const timer of [this.#watch, this.#drain, this.#goodbye]) clearTimeout(timer);
    if (this.#socket) abandonSocket(this.#socket);
    const answers = [...this.#answers.values()];
    this.#answers.clear();
    for (const answer of answers) answer(undefined);
    if (code === undefined) return;
    const lasted = this.#connectedAt && Math.max(0, Date.now() - this.#connectedAt);
    this.owner.onEnd({ code, reason, error: this.#error, lasted, retryAfter: retryHint(reason), ...this.#refusal });
  }
}
