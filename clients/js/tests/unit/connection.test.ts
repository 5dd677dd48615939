import { describe, expect, test, vi } from "vitest";
import { MockNode, settle, setUp, statusOf, useMockClock, waitOf } from "./mock_node.js";

useMockClock();

describe("opening", () => {
  test("tokens are sent as subprotocols and never in the URL", async () => {
    const { node, carillon } = setUp({ tokens: () => ({ api: "A", user: "U" }) });
    await settle();
    expect(node.last.protocols).toEqual(["carillon.v1", "api.A", "user.U"]);
    expect(node.last.url).toBe("wss://ws.example.com/");
    expect(carillon.state).toEqual({ status: "connected", sessionId: "s1", node: "n" });
  });

  test("tokens are sent in headers if the option says so", async () => {
    const { node } = setUp({ tokens: () => ({ api: "A", user: "U" }), headers: true });
    await settle();
    expect(node.last.protocols).toEqual(["carillon.v1"]);
    expect(node.last.options).toEqual({ headers: { "x-am-authorization": "A", "x-am-user-authorization": "U" } });
  });

  test("states come in order, also as events of their names", async () => {
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

  test("a connection without CONNECTED is given up after 15 s", async () => {
    const node = new MockNode();
    node.handshake = "nothing";
    const { states } = setUp({}, node);
    await vi.advanceTimersByTimeAsync(14_900);
    expect(states).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(states[0]).toMatchObject({ status: "disconnected", willRetry: true, reason: { closeCode: 1006 } });
  });

  test("a WebSocket constructor that throws is a failed connection", async () => {
    const Socket = class {
      constructor() {
        throw new SyntaxError("blocked");
      }
    } as never;
    const { states } = setUp({ WebSocket: Socket });
    await settle();
    expect(states[0]).toMatchObject({ willRetry: true, reason: { error: { code: "SOCKET_FAILED" } } });
  });

  test("tokens that no WebSocket accepts are fetched again, five times at most", async () => {
    const Socket = class {
      constructor() {
        throw new SyntaxError("the subprotocol is invalid");
      }
    } as never;
    const { states, tokens } = setUp({ WebSocket: Socket });
    await vi.advanceTimersByTimeAsync(600_000);
    expect(tokens).toHaveBeenCalledTimes(5);
    expect(states.at(-1)).toMatchObject({ willRetry: false, reason: { error: { code: "SOCKET_FAILED" } } });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("without a WebSocket the constructor does not throw, and the state names the error", async () => {
    vi.stubGlobal("WebSocket", undefined);
    const { carillon, states, tokens } = setUp({ WebSocket: undefined });
    const subscription = carillon.subscribe("orders");
    expect(carillon.state).toEqual({ status: "connecting" });
    await settle();
    expect(states).toMatchObject([{ status: "disconnected", willRetry: false, reason: { error: { code: "NO_WEBSOCKET" } } }]);
    expect(states[0]).toMatchObject({ reason: { message: expect.stringContaining("package ws") } });
    expect(subscription.state).toBe("ended");
    expect(tokens).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a client without a WebSocket that is closed at once reports no error", async () => {
    vi.stubGlobal("WebSocket", undefined);
    const { carillon, states } = setUp({ WebSocket: undefined });
    await carillon.close();
    expect(states).toEqual([{ status: "disconnected", willRetry: false, reason: { closeCode: 1000, message: "closed by the application" } }]);
  });

  test("a global WebSocket that is installed after the import is used", async () => {
    const node = new MockNode();
    vi.stubGlobal("WebSocket", node.WebSocket);
    const { carillon } = setUp({ WebSocket: undefined }, node);
    await settle();
    expect(carillon.state.status).toBe("connected");
  });

  test("an invalid URL is refused at once", () => {
    expect(() => setUp({})).not.toThrow();
    expect(() => new (setUp().carillon.constructor as never as new (url: string, options: object) => unknown)("nope", {})).toThrow(TypeError);
  });
});

describe("reconnecting", () => {
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

  test("waits grow to 30 s while attempts fail, and start again after a stable session", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.999999);
    const { node, carillon } = setUp();
    await settle();
    node.handshake = "nothing";
    const waits: number[] = [];
    for (let index = 0; index < 5; index++) {
      node.last.end(1006);
      waits.push(Math.round(waitOf(carillon.state) / 1000));
      await vi.advanceTimersByTimeAsync(waitOf(carillon.state));
    }
    expect(waits).toEqual([5, 10, 20, 30, 30]);
    node.last.end(1006);
    node.handshake = "connected";
    await vi.advanceTimersByTimeAsync(30_000);
    node.last.end(1001);
    expect(Math.round(waitOf(carillon.state) / 1000)).toBe(30);
    await vi.advanceTimersByTimeAsync(30_000 + 10_000);
    node.last.end(1001);
    expect(Math.round(waitOf(carillon.state) / 1000)).toBe(5);
  });

  test("after 4429 the client waits longer and sends less", async () => {
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

  test("a wait that the node names is at least one second, and spread by a fifth", async () => {
    for (const [reason, random, wait] of [["retry-after=0", 0, 1_000], ["retry after 10", 0.5, 11_000]] as const) {
      vi.spyOn(Math, "random").mockReturnValue(random);
      const { node, carillon } = setUp();
      await settle();
      node.last.end(1001, reason);
      expect(waitOf(carillon.state)).toBe(wait);
      void carillon.close();
    }
  });

  test("a wait that the node names wins, even if the page becomes visible", async () => {
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

  test("Retry-After of a refused handshake is used if the socket reports it", async () => {
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
    node.handshake = "nothing";
    await settle();
    listeners["unexpected-response"]!({}, { statusCode: 503, headers: { "retry-after": "7" } });
    expect(waitOf(second.carillon.state)).toBe(7_000);
    void carillon.close();
  });
});
