import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Tokens } from "../../src/index.js";
import { MockNode, settle, setUp, statusOf, tokensFor, useMockClock } from "./mock_node.js";

useMockClock();

describe("waking up", () => {
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

  test("the event online ends a wait", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.999999);
    const { node, carillon } = setUp();
    await vi.advanceTimersByTimeAsync(2_000);
    node.last.end(1006);
    scope.dispatchEvent(new Event("online"));
    await settle();
    expect(carillon.state.status).toBe("connected");
    expect(vi.getTimerCount()).toBe(2); // the watch and the renewal
  });

  test("a page that becomes visible ends a wait, one that becomes hidden does not", async () => {
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

  test("an attempt that hangs without a network starts again when the page is online, not when it is visible", async () => {
    const node = new MockNode();
    node.handshake = "nothing";
    const { carillon, states } = setUp({}, node);
    await vi.advanceTimersByTimeAsync(2_000);
    node.handshake = "connected";
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

  test("a fetch of tokens that hangs without a network starts again when the page is online", async () => {
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

  test("after 4429 a visible page does not shorten the wait", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const { node } = setUp();
    await vi.advanceTimersByTimeAsync(2_000);
    node.last.end(4429, "too many messages");
    await vi.advanceTimersByTimeAsync(1_500);
    page.visibilityState = "visible";
    page.dispatchEvent(new Event("visibilitychange"));
    scope.dispatchEvent(new Event("online"));
    await settle();
    expect(node.sockets.length).toBe(1);
    await vi.advanceTimersByTimeAsync(3_500);
    expect(node.sockets.length).toBe(2);
  });

  test("a page that becomes visible many times does not reconnect more often", async () => {
    const { node } = setUp();
    await vi.advanceTimersByTimeAsync(2_000);
    node.handshake = "nothing";
    node.last.end(1006);
    for (let index = 0; index < 20; index++) {
      scope.dispatchEvent(new Event("online"));
      await settle();
      if (!node.last.isClosed) node.last.end(1006);
    }
    expect(node.sockets.length).toBe(2);
  });

  test("an open connection is probed, and found dead within 10 s", async () => {
    const { node, states } = setUp();
    await vi.advanceTimersByTimeAsync(2_000);
    node.isSilent = true;
    scope.dispatchEvent(new Event("online"));
    expect(node.last.sent).toMatchObject([{ objType: "UNREGISTER", onEvents: [] }]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(states[1]).toMatchObject({ status: "disconnected", willRetry: true, reason: { closeCode: 4408 } });
  });

  test("listeners of the page are removed at the end", async () => {
    const controller = new AbortController();
    const targets = [scope, page, controller.signal];
    const counts = targets.map((target) => [vi.spyOn(target, "addEventListener"), vi.spyOn(target, "removeEventListener")] as const);
    vi.stubGlobal("addEventListener", scope.addEventListener.bind(scope));
    vi.stubGlobal("removeEventListener", scope.removeEventListener.bind(scope));
    const { carillon } = setUp({ signal: controller.signal });
    await settle();
    await carillon.close();
    for (const [add, remove] of counts) {
      expect(add).toHaveBeenCalledTimes(1);
      expect(remove.mock.calls).toEqual(add.mock.calls);
    }
    scope.dispatchEvent(new Event("online"));
    await settle();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("silence", () => {
  test("a node is probed after two and a half intervals, and the connection stays open if it answers", async () => {
    const { node, states } = setUp();
    await vi.advanceTimersByTimeAsync(149_000);
    expect(node.last.sent).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(node.last.sent.length).toBe(1);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(statusOf(states)).toEqual(["connected"]);
    expect(node.last.sent.length).toBe(5);
  });

  test("a connection is closed if the node does not answer the probe", async () => {
    const { node, states } = setUp();
    await settle();
    node.isSilent = true;
    await vi.advanceTimersByTimeAsync(160_500);
    expect(states[1]).toMatchObject({ status: "disconnected", willRetry: true, reason: { closeCode: 4408 } });
  });

  test("a request without an answer leads to a probe after 10 s", async () => {
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

  test("a timer that is much too late sends a second probe before it gives up", async () => {
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

  test("a clock that is set back does not end the connection", async () => {
    const { node, states } = setUp();
    await settle();
    vi.setSystemTime(Date.now() - 86_400_000);
    await vi.advanceTimersByTimeAsync(400_000);
    expect(node.last.sent.length).toBeGreaterThan(0);
    expect(statusOf(states)).toEqual(["connected"]);
  });
});
