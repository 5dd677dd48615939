// A mock of a node: sockets that the test controls, and the answers of the protocol.

import { afterEach, beforeEach, vi } from "vitest";
import { Carillon, type CarillonOptions, type ConnectionState, type Subscription, type Tokens } from "../../src/index.js";

type Message = Record<string, any>;

export class MockSocket {
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
    private node: MockNode,
  ) {}

  send(text: string): void {
    this.texts.push(text);
    const message = JSON.parse(text) as Message;
    this.sent.push(message);
    const answer = this.node.isSilent ? undefined : this.node.answer(message);
    if (answer) queueMicrotask(() => this.deliver({ ...answer, guid: message.guid }));
  }

  close(code?: number): void {
    if (this.isClosed) return;
    this.isClosed = true;
    if (!this.node.isSilent) queueMicrotask(() => this.onclose?.({ code: code ?? 1005, reason: "" }));
  }

  deliver(message: Message): void {
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

export class MockNode {
  sockets: MockSocket[] = [];
  /** The result of the handshake of new sockets. */
  handshake: "connected" | "refused" | "nothing" = "connected";
  isSilent = false;
  /** Returns the error for an entry that the node refuses. */
  refuse: (entry: Message) => { code: string; message: string } | undefined = () => undefined;
  extra: (entry: Message) => Message = () => ({});
  refresh: () => Message = () => ({ response: { expiresAt: 0 } });
  #ids = 0;

  /** A WebSocket class for connections to this node. */
  get WebSocket(): CarillonOptions["WebSocket"] {
    const node = this;
    return class extends MockSocket {
      constructor(url: string, protocols: string[], options: unknown) {
        super(url, protocols, options, node);
        node.sockets.push(this);
        const { handshake } = node;
        queueMicrotask(() => {
          if (handshake === "connected") {
            const response = { connected: true, sessionId: `s${node.sockets.length}`, node: "n", pingInterval: 60 };
            this.deliver({ type: "CONNECTED", response });
          } else if (handshake === "refused") {
            this.deliver({ type: "TOKEN_VALIDATION", errors: [{ code: "TOKEN_INVALID", message: "bad" }] });
            this.end(4401, "token bad or expired");
          }
        });
      }
    } as unknown as CarillonOptions["WebSocket"];
  }

  get last(): MockSocket {
    return this.sockets[this.sockets.length - 1]!;
  }

  answer({ objType, onEvents }: Message): Message | undefined {
    if (objType === "REFRESH") return { type: "REFRESH", ...this.refresh() };
    const validOnEvents: Message[] = [];
    const invalidOnEvents: Message[] = [];
    for (const entry of onEvents) {
      const error = this.refuse(entry);
      if (error) invalidOnEvents.push({ ...entry, error });
      else validOnEvents.push(objType === "REGISTER" ? { ...entry, eventId: `${++this.#ids}`, ...this.extra(entry) } : entry);
    }
    return { type: objType, response: { validOnEvents, invalidOnEvents } };
  }

  notify(eventId: string | undefined, eventData: unknown, more: Message = {}): void {
    const response = { eventId, eventType: "CUSTOM_WS_EVENTS", eventName: "orders", eventData, ...more };
    this.last.deliver({ type: "NOTIFICATION", response });
  }
}

/** A JWT that expires in `seconds` from now. */
export function jwt(seconds: number, claims: Message = {}): string {
  const now = Math.floor(Date.now() / 1000);
  const payload = { iat: now, exp: now + seconds, ...claims };
  return `h.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.s`;
}

export function tokensFor(seconds: number): Tokens {
  return { api: "h.e30.s", user: jwt(seconds) };
}

/** A client of a mock node, with its states. */
export function setUp(options: Partial<CarillonOptions> = {}, node = new MockNode()) {
  const tokens = vi.fn(async (): Promise<Tokens | null> => tokensFor(3600));
  const carillon = new Carillon("wss://ws.example.com", { tokens, WebSocket: node.WebSocket, ...options });
  const states: ConnectionState[] = [];
  carillon.on("state", (state) => states.push(state));
  return { node, carillon, states, tokens };
}

/** Runs pending promises and timers without a wait. */
export async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

type Disconnected = Extract<ConnectionState, { status: "disconnected" }>;

/** The statuses of states. */
export function statusOf(states: ConnectionState[]): string[] {
  return states.map(({ status }) => status);
}

/** The time to the client's next attempt, in milliseconds. */
export function waitOf(state: ConnectionState | undefined): number {
  return (state as Disconnected).retryAt! - Date.now();
}

/** Gives each test of a file a mock clock that it advances. */
export function useMockClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_800_000_000_000 });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
  });
}

/** Records the events of a subscription, in order. */
export function record(subscription: Subscription<any>): string[] {
  const received: string[] = [];
  subscription.on("notification", (data) => received.push(`notification ${JSON.stringify(data)}`));
  subscription.on("gap", (reason) => received.push(`gap ${reason}`));
  subscription.on("registering", () => received.push("registering"));
  subscription.on("registered", () => received.push("registered"));
  subscription.on("refused", ({ code }) => received.push(`refused ${code}`));
  subscription.on("ended", (reason) => received.push(`ended ${reason}`));
  return received;
}

/** Ends the session and waits for the next one. */
export async function reconnect(node: MockNode, closeCode = 1001): Promise<void> {
  node.last.end(closeCode);
  await vi.advanceTimersByTimeAsync(5_000);
}
