// A broker of the imagination: sockets that the test ends, and answers as the protocol has them.

import { afterEach, beforeEach, vi } from "vitest";
import { Carillon, type CarillonOptions, type ConnectionState, type Subscription, type Tokens } from "../../src/index.js";

type Message = Record<string, any>;

export class FakeSocket {
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { code: number; reason: string }) => void) | null = null;
  onerror: ((event: unknown) => void) | null = null;
  sent: Message[] = [];
  texts: string[] = [];
  isClosed = false;

  constructor(
    readonly url: string,
    readonly protocols: string[],
    readonly options: unknown,
    private node: FakeNode,
  ) {}

  send(text: string): void {
    this.texts.push(text);
    const message = JSON.parse(text) as Message;
    this.sent.push(message);
    const answer = this.node.isSilent ? undefined : this.node.answer(message);
    if (answer) queueMicrotask(() => this.tell({ ...answer, guid: message.guid }));
  }

  close(code?: number): void {
    if (this.isClosed) return;
    this.isClosed = true;
    if (!this.node.isSilent) queueMicrotask(() => this.onclose?.({ code: code ?? 1005, reason: "" }));
  }

  tell(message: Message): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  end(code: number, reason = ""): void {
    this.isClosed = true;
    this.onclose?.({ code, reason });
  }

  of(objType: string): Message[] {
    return this.sent.filter((message) => message.objType === objType);
  }
}

export class FakeNode {
  sockets: FakeSocket[] = [];
  /** What becomes of a new socket. */
  welcome: "connected" | "refused" | "nothing" = "connected";
  isSilent = false;
  /** Refuses entries. */
  judge: (entry: Message) => { code: string; message: string } | undefined = () => undefined;
  extra: (entry: Message) => Message = () => ({});
  refresh: () => Message = () => ({ response: { expiresAt: 0 } });
  #ids = 0;

  /** What makes sockets to this node. */
  get WebSocket(): CarillonOptions["WebSocket"] {
    const node = this;
    return class extends FakeSocket {
      constructor(url: string, protocols: string[], options: unknown) {
        super(url, protocols, options, node);
        node.sockets.push(this);
        const { welcome } = node;
        queueMicrotask(() => {
          if (welcome === "connected") {
            const response = { connected: true, sessionId: `s${node.sockets.length}`, node: "n", pingInterval: 60 };
            this.tell({ type: "CONNECTED", response });
          } else if (welcome === "refused") {
            this.tell({ type: "TOKEN_VALIDATION", errors: [{ code: "TOKEN_INVALID", message: "bad" }] });
            this.end(4401, "token bad or expired");
          }
        });
      }
    } as unknown as CarillonOptions["WebSocket"];
  }

  get last(): FakeSocket {
    return this.sockets[this.sockets.length - 1]!;
  }

  answer({ objType, onEvents }: Message): Message | undefined {
    if (objType === "REFRESH") return { type: "REFRESH", ...this.refresh() };
    const validOnEvents: Message[] = [];
    const invalidOnEvents: Message[] = [];
    for (const entry of onEvents) {
      const error = this.judge(entry);
      if (error) invalidOnEvents.push({ ...entry, error });
      else validOnEvents.push(objType === "REGISTER" ? { ...entry, eventId: `${++this.#ids}`, ...this.extra(entry) } : entry);
    }
    return { type: objType, response: { validOnEvents, invalidOnEvents } };
  }

  notify(eventId: string | undefined, eventData: unknown, more: Message = {}): void {
    const response = { eventId, eventType: "CUSTOM_WS_EVENTS", eventName: "orders", eventData, ...more };
    this.last.tell({ type: "NOTIFICATION", response });
  }
}

/** A JWT that says when it ends, in seconds from now. */
export function jwt(seconds: number, claims: Message = {}): string {
  const now = Math.floor(Date.now() / 1000);
  const payload = { iat: now, exp: now + seconds, ...claims };
  return `h.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.s`;
}

export function tokensFor(seconds: number): Tokens {
  return { api: "h.e30.s", user: jwt(seconds) };
}

/** A client of a fake node, its states, and how to let everything settle. */
export function setUp(options: Partial<CarillonOptions> = {}, node = new FakeNode()) {
  const tokens = vi.fn(async (): Promise<Tokens | null> => tokensFor(3600));
  const carillon = new Carillon("wss://ws.example.com", { tokens, WebSocket: node.WebSocket, ...options });
  const states: ConnectionState[] = [];
  carillon.on("state", (state) => states.push(state));
  return { node, carillon, states, tokens };
}

/** Lets promises and timers of no wait come to their end. */
export async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

type Disconnected = Extract<ConnectionState, { status: "disconnected" }>;

/** The names of states. */
export function statusOf(states: ConnectionState[]): string[] {
  return states.map(({ status }) => status);
}

/** How long a client waits for its next attempt, in milliseconds. */
export function waitOf(state: ConnectionState | undefined): number {
  return (state as Disconnected).retryAt! - Date.now();
}

/** A clock that the test moves; a fresh one for each test of a file. */
export function useFakeClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_800_000_000_000 });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
  });
}

/** What a subscription tells, in order. */
export function record(subscription: Subscription<any>): string[] {
  const told: string[] = [];
  subscription.on("notification", (data) => told.push(`notification ${JSON.stringify(data)}`));
  subscription.on("gap", (reason) => told.push(`gap ${reason}`));
  subscription.on("registering", () => told.push("registering"));
  subscription.on("registered", () => told.push("registered"));
  subscription.on("refused", ({ code }) => told.push(`refused ${code}`));
  subscription.on("ended", (reason) => told.push(`ended ${reason}`));
  return told;
}

/** Ends the session and waits for the next. */
export async function reconnect(node: FakeNode, closeCode = 1001): Promise<void> {
  node.last.end(closeCode);
  await vi.advanceTimersByTimeAsync(5_000);
}
