import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CarillonError, type ConnectionState, type Tokens } from "../../src/index.js";
import { FakeNode, setUp, settle, tokensFor } from "./fake_node.js";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

type Disconnected = Extract<ConnectionState, { status: "disconnected" }>;

function statusOf(states: ConnectionState[]): string[] {
  return states.map(({ status }) => status);
}

function waitOf(state: ConnectionState | undefined): number {
  return (state as Disconnected).retryAt! - Date.now();
}

describe("opening", () => {
  test("tokens travel as subprotocols and never in the URL", async () => {
    const { node, carillon } = setUp({ tokens: () => ({ api: "A", user: "U" }) });
    await settle();
    expect(node.last.protocols).toEqual(["carillon.v1", "api.A", "user.U"]);
    expect(node.last.url).toBe("wss://ws.example.com/");
    expect(carillon.state).toEqual({ status: "connected", sessionId: "s1", node: "n" });
  });

  test("tokens travel in headers where that is asked for", async () => {
    const { node } = setUp({ tokens: () => ({ api: "A", user: "U" }), headers: true });
    await settle();
    expect(node.last.protocols).toEqual(["carillon.v1"]);
    expect(node.last.options).toEqual({ headers: { "x-am-authorization": "A", "x-am-user-authorization": "U" } });
  });

  test("states come in order, each under its name too", async () => {
    const { node, carillon, states } = setUp();
    const names: string[] = [];
    carillon.on("connecting", () => names.push("connecting"));
    carillon.on("connected", ({ sessionId }) => names.push(`connected ${sessionId}`));
    carillon.on("disconnected", ({ closeCode }, willRetry) => names.push(`disconnected ${closeCode} ${willRetry}`));
    await settle();
    node.last.end(1001, "the node stops");
    await vi.advanceTimersByTimeAsync(5_000);
    expect(statusOf(states)).toEqual(["connected", "disconnected", "connecting", "connected"]);
    expect(names).toEqual(["connected s1", "disconnected 1001 true", "connecting", "connected s2"]);
  });

  test("a node that never says CONNECTED is given up after 15 s", async () => {
    const node = new FakeNode();
    node.welcome = "nothing";
    const { states } = setUp({}, node);
    await vi.advanceTimersByTimeAsync(14_900);
    expect(states).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(states[0]).toMatchObject({ status: "disconnected", willRetry: true, reason: { closeCode: 1006 } });
  });

  test("a constructor that throws is a connection that failed", async () => {
    const Socket = class {
      constructor() {
        throw new SyntaxError("blocked");
      }
    } as never;
    const { states } = setUp({ WebSocket: Socket });
    await settle();
    expect(states[0]).toMatchObject({ willRetry: true, reason: { error: { code: "SOCKET_FAILED" } } });
  });

  test("a URL that is none is refused at once", () => {
    expect(() => setUp({})).not.toThrow();
    expect(() => new (setUp().carillon.constructor as never as new (url: string, options: object) => unknown)("nope", {})).toThrow(TypeError);
  });
});

describe("coming back", () => {
  test.each([1001, 1005, 1006, 1011, 1012, 4408, 4430])("close code %i waits 1 to 5 s", async (code) => {
    for (const [random, wait] of [[0, 1_000], [0.5, 3_000], [0.999999, 5_000]] as const) {
      vi.spyOn(Math, "random").mockReturnValue(random);
      const { node, carillon } = setUp();
      await settle();
      node.last.end(code);
      expect(waitOf(carillon.state)).toBeCloseTo(wait, -2);
      expect(carillon.state).toMatchObject({ willRetry: true, reason: { closeCode: code } });
      void carillon.close();
    }
  });

  test.each([1000, 1002, 1003, 1007, 1009, 4403])("close code %i is the end", async (code) => {
    const { node, carillon, states } = setUp();
    const subscription = carillon.subscribe("orders");
    await settle();
    node.last.end(code, "over");
    expect(states[1]).toEqual({ status: "disconnected", willRetry: false, reason: { closeCode: code, message: "over" } });
    expect(subscription.state).toBe("ended");
    await vi.advanceTimersByTimeAsync(120_000);
    expect(node.sockets.length).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
    expect(carillon.subscribe("orders").state).toBe("ended");
  });

  test("waits grow to 30 s while nothing works, and start anew after a session that stood", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.999999);
    const { node, carillon } = setUp();
    await settle();
    node.welcome = "nothing";
    const waits: number[] = [];
    for (let index = 0; index < 5; index++) {
      node.last.end(1006);
      waits.push(Math.round(waitOf(carillon.state) / 1000));
      await vi.advanceTimersByTimeAsync(waitOf(carillon.state));
    }
    expect(waits).toEqual([5, 10, 20, 30, 30]);
    node.last.end(1006);
    node.welcome = "connected";
    await vi.advanceTimersByTimeAsync(30_000);
    node.last.end(1001);
    expect(Math.round(waitOf(carillon.state) / 1000)).toBe(30);
    await vi.advanceTimersByTimeAsync(30_000 + 10_000);
    node.last.end(1001);
    expect(Math.round(waitOf(carillon.state) / 1000)).toBe(5);
  });

  test("after 4429 it waits longer and sends less", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const { node, carillon } = setUp();
    await settle();
    node.last.end(4429, "too many messages");
    expect(waitOf(carillon.state)).toBe(5_000);
    await vi.advanceTimersByTimeAsync(5_000);
    for (let index = 0; index < 30; index++) {
      carillon.subscribe("orders");
      await Promise.resolve();
    }
    await settle();
    expect(node.last.sent.length).toBeLessThanOrEqual(11);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(node.last.of("REGISTER").flatMap(({ onEvents }) => onEvents).length).toBe(30);
  });

  test("a wait that the node names is never none, and spread by a fifth", async () => {
    for (const [reason, random, wait] of [["retry-after=0", 0, 1_000], ["retry after 10", 0.5, 11_000]] as const) {
      vi.spyOn(Math, "random").mockReturnValue(random);
      const { node, carillon } = setUp();
      await settle();
      node.last.end(1001, reason);
      expect(waitOf(carillon.state)).toBe(wait);
      void carillon.close();
    }
  });

  test("a wait that the node names wins, also over a page that awakes", async () => {
    const scope = new EventTarget();
    vi.stubGlobal("addEventListener", scope.addEventListener.bind(scope));
    vi.stubGlobal("removeEventListener", scope.removeEventListener.bind(scope));
    vi.spyOn(Math, "random").mockReturnValue(0);
    const { node, carillon } = setUp();
    await settle();
    node.last.end(1001, "drains, retry-after=42");
    expect(waitOf(carillon.state)).toBe(42_000);
    await vi.advanceTimersByTimeAsync(10_000);
    scope.dispatchEvent(new Event("online"));
    await settle();
    expect(node.sockets.length).toBe(1);
    await vi.advanceTimersByTimeAsync(32_000);
    expect(node.sockets.length).toBe(2);
    vi.unstubAllGlobals();
  });

  test("Retry-After of a refused handshake is heard where the socket tells it", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const { node, carillon } = setUp();
    await settle();
    const listeners: Record<string, (...args: unknown[]) => void> = {};
    const Plain = node.WebSocket!;
    const second = setUp({
      WebSocket: class extends (Plain as any) {
        on(name: string, listener: (...args: unknown[]) => void) {
          listeners[name] = listener;
        }
        terminate() {
          (this as any).end(1006);
        }
      } as never,
    });
    node.welcome = "nothing";
    await settle();
    listeners["unexpected-response"]!({}, { statusCode: 503, headers: { "retry-after": "7" } });
    expect(waitOf(second.carillon.state)).toBe(7_000);
    void carillon.close();
  });
});

describe("awaking", () => {
  let scope: EventTarget;
  let page: EventTarget & { visibilityState?: string };

  beforeEach(() => {
    scope = new EventTarget();
    page = new EventTarget();
    vi.stubGlobal("addEventListener", vi.fn(scope.addEventListener.bind(scope)));
    vi.stubGlobal("removeEventListener", vi.fn(scope.removeEventListener.bind(scope)));
    vi.stubGlobal("document", page);
  });
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test("online ends a wait", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.999999);
    const { node, carillon } = setUp();
    await vi.advanceTimersByTimeAsync(2_000);
    node.last.end(1006);
    scope.dispatchEvent(new Event("online"));
    await settle();
    expect(carillon.state.status).toBe("connected");
    expect(vi.getTimerCount()).toBe(2); // the watch and the renewal
  });

  test("a page that is seen again ends a wait, one that hides does not", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.999999);
    const { node } = setUp();
    await vi.advanceTimersByTimeAsync(2_000);
    node.last.end(1006);
    page.visibilityState = "hidden";
    page.dispatchEvent(new Event("visibilitychange"));
    await settle();
    expect(node.sockets.length).toBe(1);
    page.visibilityState = "visible";
    page.dispatchEvent(new Event("visibilitychange"));
    await settle();
    expect(node.sockets.length).toBe(2);
  });

  test("an attempt that hangs since the tunnel is left for a new one when the page is online, not when it is seen", async () => {
    const node = new FakeNode();
    node.welcome = "nothing";
    const { carillon, states } = setUp({}, node);
    await vi.advanceTimersByTimeAsync(2_000);
    node.welcome = "connected";
    page.visibilityState = "visible";
    page.dispatchEvent(new Event("visibilitychange"));
    await settle();
    expect(node.sockets.length).toBe(1);
    scope.dispatchEvent(new Event("online"));
    await settle();
    expect(node.sockets.map(({ isClosed }) => isClosed)).toEqual([true, false]);
    expect(carillon.state.status).toBe("connected");
    await vi.advanceTimersByTimeAsync(20_000);
    expect(statusOf(states)).toEqual(["connected"]);
  });

  test("tokens that hang since the tunnel are fetched anew when the page is online", async () => {
    const tokens = vi.fn((): Promise<Tokens> => new Promise(() => {}));
    const { carillon } = setUp({ tokens });
    await vi.advanceTimersByTimeAsync(2_000);
    tokens.mockImplementation(async () => tokensFor(3600));
    scope.dispatchEvent(new Event("online"));
    await settle();
    expect(carillon.state.status).toBe("connected");
    await vi.advanceTimersByTimeAsync(40_000);
    expect(carillon.state.status).toBe("connected");
  });

  test("a page that flickers does not hammer", async () => {
    const { node } = setUp();
    await vi.advanceTimersByTimeAsync(2_000);
    node.welcome = "nothing";
    node.last.end(1006);
    for (let index = 0; index < 20; index++) {
      scope.dispatchEvent(new Event("online"));
      await settle();
      if (!node.last.isClosed) node.last.end(1006);
    }
    expect(node.sockets.length).toBe(2);
  });

  test("an open connection is doubted, and found dead within 10 s", async () => {
    const { node, states } = setUp();
    await vi.advanceTimersByTimeAsync(2_000);
    node.isSilent = true;
    scope.dispatchEvent(new Event("online"));
    expect(node.last.sent).toMatchObject([{ objType: "UNREGISTER", onEvents: [] }]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(states[1]).toMatchObject({ status: "disconnected", willRetry: true, reason: { closeCode: 4408 } });
  });

  test("listeners are gone after the end", async () => {
    const { carillon } = setUp();
    await settle();
    await carillon.close();
    expect(removeEventListener).toHaveBeenCalledTimes(1);
    scope.dispatchEvent(new Event("online"));
    await settle();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("silence", () => {
  test("a node that answers is asked after two and a half intervals, and kept", async () => {
    const { node, states } = setUp();
    await vi.advanceTimersByTimeAsync(149_000);
    expect(node.last.sent).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(node.last.sent.length).toBe(1);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(statusOf(states)).toEqual(["connected"]);
    expect(node.last.sent.length).toBe(5);
  });

  test("a node that does not answer is left", async () => {
    const { node, states } = setUp();
    await settle();
    node.isSilent = true;
    await vi.advanceTimersByTimeAsync(160_500);
    expect(states[1]).toMatchObject({ status: "disconnected", willRetry: true, reason: { closeCode: 4408 } });
  });

  test("a question without an answer raises doubt after 10 s", async () => {
    const { node, carillon, states } = setUp();
    await vi.advanceTimersByTimeAsync(60_000);
    node.isSilent = true;
    carillon.subscribe("orders");
    await vi.advanceTimersByTimeAsync(10_100);
    expect(node.last.sent.map(({ objType }) => objType)).toEqual(["REGISTER", "UNREGISTER"]);
    expect(statusOf(states)).toEqual(["connected"]);
    await vi.advanceTimersByTimeAsync(10_100);
    expect(statusOf(states)[1]).toBe("disconnected");
  });

  test("a timer that comes much too late asks once more before it judges", async () => {
    const { node, states } = setUp();
    await settle();
    node.isSilent = true;
    await vi.advanceTimersByTimeAsync(150_500);
    expect(node.last.sent.length).toBe(1);
    vi.setSystemTime(Date.now() + 3_600_000); // the machine slept
    await vi.advanceTimersByTimeAsync(10_000);
    expect(node.last.sent.length).toBe(2);
    expect(statusOf(states)).toEqual(["connected"]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(statusOf(states)[1]).toBe("disconnected");
  });

  test("a clock that is set back does no harm", async () => {
    const { node, states } = setUp();
    await settle();
    vi.setSystemTime(Date.now() - 86_400_000);
    await vi.advanceTimersByTimeAsync(400_000);
    expect(node.last.sent.length).toBeGreaterThan(0);
    expect(statusOf(states)).toEqual(["connected"]);
  });
});

describe("tokens", () => {
  test("are renewed before they end, over the same connection", async () => {
    const tokens = vi.fn(async () => tokensFor(3600));
    const { node } = setUp({ tokens });
    await vi.advanceTimersByTimeAsync(3_479_000);
    expect(tokens).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(tokens).toHaveBeenCalledTimes(2);
    const [refresh] = node.last.of("REFRESH");
    expect(refresh!.guid).toBeTypeOf("string");
    expect(refresh!.tokens["x-am-user-authorization"]).toBe((await tokens.mock.results[1]!.value).user);
    await vi.advanceTimersByTimeAsync(3_480_000);
    expect(node.last.of("REFRESH").length).toBe(2);
    expect(node.sockets.length).toBe(1);
  });

  test("of a short life are renewed when a fifth of it is left", async () => {
    const { node } = setUp({ tokens: () => tokensFor(10) });
    await vi.advanceTimersByTimeAsync(7_900);
    expect(node.last.of("REFRESH").length).toBe(0);
    await vi.advanceTimersByTimeAsync(200);
    expect(node.last.of("REFRESH").length).toBe(1);
  });

  test("are renewed in time though the clock of this machine is an hour wrong", async () => {
    for (const hours of [-1, 1]) {
      const tokens = vi.fn(() => {
        const real = Date.now();
        vi.setSystemTime(real - hours * 3_600_000);
        const issued = tokensFor(600);
        vi.setSystemTime(real);
        return issued;
      });
      const { carillon } = setUp({ tokens });
      await vi.advanceTimersByTimeAsync(470_000);
      expect(tokens).toHaveBeenCalledTimes(1);
      await vi.advanceTimersByTimeAsync(20_000);
      expect(tokens).toHaveBeenCalledTimes(2);
      await carillon.close();
    }
  });

  test("that are not renewed are asked for with growing waits, and each failure is told", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.999999);
    const issued = tokensFor(3600);
    const tokens = vi.fn(async (): Promise<Tokens> => issued);
    const { node, carillon } = setUp({ tokens });
    const problems: string[] = [];
    carillon.on("problem", ({ code }) => problems.push(code));
    await vi.advanceTimersByTimeAsync(3_481_000);
    expect(problems).toEqual(["TOKENS_NOT_RENEWED"]);
    tokens.mockRejectedValue(new Error("away"));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(problems).toEqual(["TOKENS_NOT_RENEWED", "TOKENS_FAILED", "TOKENS_FAILED", "TOKENS_FAILED"]);
    expect(node.last.of("REFRESH").length).toBe(0);
    tokens.mockImplementation(async () => tokensFor(3600));
    node.refresh = () => ({ errors: [{ code: "PROJECT_MISMATCH", message: "another user" }] });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(problems.at(-1)).toBe("PROJECT_MISMATCH");
    expect(carillon.state.status).toBe("connected");
  });

  test("are fetched anew at once after 4401", async () => {
    const { node, tokens } = setUp();
    await vi.advanceTimersByTimeAsync(60_000);
    node.last.end(4401, "token bad or expired");
    await settle();
    expect(tokens).toHaveBeenCalledTimes(2);
    expect(node.sockets.length).toBe(2);
  });

  test("are kept for a reconnect while they last", async () => {
    const { node, tokens } = setUp();
    await vi.advanceTimersByTimeAsync(60_000);
    node.last.end(1001);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(node.sockets.length).toBe(2);
    expect(tokens).toHaveBeenCalledTimes(1);
  });

  test("that a node refuses are tried five times, with growing waits, and no more", async () => {
    const node = new FakeNode();
    node.welcome = "refused";
    const { states, tokens } = setUp({}, node);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(tokens).toHaveBeenCalledTimes(5);
    expect(states.at(-1)).toMatchObject({ willRetry: false, reason: { closeCode: 4401, error: { code: "TOKEN_INVALID" } } });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("that end at once do not make an endless loop", async () => {
    const { node, carillon } = setUp();
    for (let index = 0; index < 5; index++) {
      await vi.advanceTimersByTimeAsync(30_000 - 25_000 * Number(carillon.state.status === "connected"));
      if (carillon.state.status === "connected") node.last.end(4401);
    }
    await vi.advanceTimersByTimeAsync(60_000);
    expect(node.sockets.length).toBeLessThanOrEqual(6);
  });

  test("that can't be fetched are asked for again, with growing waits, and told", async () => {
    const tokens = vi.fn(async (): Promise<Tokens> => {
      throw new Error("session over");
    });
    const { node, states } = setUp({ tokens });
    await vi.advanceTimersByTimeAsync(120_000);
    expect(node.sockets.length).toBe(0);
    expect(tokens.mock.calls.length).toBeGreaterThan(4);
    expect(tokens.mock.calls.length).toBeLessThan(30);
    expect(states[0]).toMatchObject({ willRetry: true, reason: { error: { code: "TOKENS_FAILED", message: "tokens() failed: session over" } } });
    tokens.mockImplementation(async () => tokensFor(60));
    await vi.advanceTimersByTimeAsync(30_000);
    expect(states.at(-1)!.status).toBe("connected");
  });

  test("that there are none of are the end", async () => {
    const { carillon } = setUp({ tokens: () => null });
    await settle();
    expect(carillon.state).toMatchObject({ willRetry: false, reason: { error: { code: "NO_TOKENS" } } });
  });

  test("that never come are given up after 30 s", async () => {
    const { carillon } = setUp({ tokens: () => new Promise(() => {}) });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(carillon.state).toMatchObject({ willRetry: true, reason: { error: { code: "TOKENS_FAILED" } } });
  });
});

describe("closing", () => {
  test("resolves when the node has said goodbye", async () => {
    const { node, carillon, states } = setUp();
    const subscription = carillon.subscribe("orders");
    const ended = vi.fn();
    subscription.on("ended", ended);
    await settle();
    await carillon.close();
    expect(node.last.isClosed).toBe(true);
    expect(states.at(-1)).toMatchObject({ status: "disconnected", willRetry: false, reason: { closeCode: 1000 } });
    expect(ended).toHaveBeenCalledExactlyOnceWith("closed");
    expect(vi.getTimerCount()).toBe(0);
    await carillon.close();
  });

  test("does not wait for a dead node for more than 5 s", async () => {
    const { node, carillon } = setUp();
    await settle();
    node.isSilent = true;
    const closed = vi.fn();
    void carillon.close().then(closed);
    await vi.advanceTimersByTimeAsync(4_900);
    expect(closed).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(200);
    expect(closed).toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("works while tokens are fetched, while it waits, and from a listener", async () => {
    const fetching = setUp({ tokens: () => new Promise((resolve) => setTimeout(resolve, 1_000, tokensFor(60))) });
    await fetching.carillon.close();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(fetching.node.sockets.length).toBe(0);
    const waiting = setUp();
    await settle();
    waiting.node.last.end(1006);
    await waiting.carillon.close();
    const listening = setUp();
    listening.carillon.on("connected", () => void listening.carillon.close());
    await settle();
    expect(listening.carillon.state).toMatchObject({ status: "disconnected", willRetry: false });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is done by a signal, before or after the start", async () => {
    const controller = new AbortController();
    const { carillon } = setUp({ signal: controller.signal });
    await settle();
    controller.abort();
    await settle();
    expect(carillon.state).toMatchObject({ willRetry: false });
    const late = setUp({ signal: AbortSignal.abort() });
    await settle();
    expect(late.node.sockets.length).toBe(0);
    expect(late.carillon.state).toMatchObject({ willRetry: false });
  });
});

test("what can't be understood is told and does no harm", async () => {
  const { node, carillon } = setUp();
  const problems: CarillonError[] = [];
  carillon.on("problem", (error) => problems.push(error));
  await settle();
  node.last.onmessage!({ data: "{" });
  node.last.tell({ type: "UNKNOWN", errors: [{ code: "UNKNOWN_MESSAGE", message: "what?" }] });
  node.last.tell({ type: "FUTURE" });
  node.notify("nobody's", {});
  expect(problems.map(({ code }) => code)).toEqual(["INVALID_JSON", "UNKNOWN_MESSAGE"]);
  expect(carillon.state.status).toBe("connected");
});
