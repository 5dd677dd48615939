import { describe, expect, test, vi } from "vitest";
import { CarillonError } from "../../src/index.js";
import { MockNode, settle, setUp, tokensFor, useMockClock } from "./mock_node.js";

useMockClock();

describe("closing", () => {
  test("resolves after the close handshake", async () => {
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

  test("works while tokens are fetched, during a wait, and from a listener", async () => {
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

  test("leaves no timer if tokens() never resolves", async () => {
    const { carillon } = setUp({ tokens: () => new Promise(() => {}) });
    await settle();
    await carillon.close();
    expect(vi.getTimerCount()).toBe(0);
    const renewing = setUp();
    await settle();
    renewing.tokens.mockImplementation(() => new Promise(() => {}));
    await vi.advanceTimersByTimeAsync(3_500_000);
    expect(renewing.tokens.mock.calls.length).toBeGreaterThan(1);
    await renewing.carillon.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("resolves while tokens are fetched for a second attempt", async () => {
    const scope = new EventTarget();
    vi.stubGlobal("addEventListener", scope.addEventListener.bind(scope));
    vi.stubGlobal("removeEventListener", scope.removeEventListener.bind(scope));
    const node = new MockNode();
    node.handshake = "nothing";
    const { carillon, tokens } = setUp({}, node);
    await settle();
    tokens.mockImplementation(() => new Promise(() => {}));
    vi.setSystemTime(Date.now() + 3_600_000);
    scope.dispatchEvent(new Event("online"));
    const closed = vi.fn();
    void carillon.close().then(closed);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(closed).toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
    vi.unstubAllGlobals();
  });

  test("ends subscriptions whose REGISTER is not answered yet", async () => {
    const { node, carillon } = setUp();
    await settle();
    node.isSilent = true;
    const subscription = carillon.subscribe("orders");
    await settle();
    const closed = carillon.close();
    node.last.deliver({ type: "REGISTER", guid: "1", response: { validOnEvents: [{ ref: "0", eventId: "7" }], invalidOnEvents: [] } });
    node.notify("7", 1);
    expect(subscription.state).toBe("ended");
    node.last.end(1000);
    await closed;
  });

  test("happens at a signal, before or after the start", async () => {
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

test("an invalid message is reported and affects nothing else", async () => {
  const { node, carillon } = setUp();
  const problems: CarillonError[] = [];
  carillon.on("problem", (error) => problems.push(error));
  await settle();
  for (const data of ["{", new ArrayBuffer(1) as never, "null", "7", '{"type":"NOTIFICATION","response":null}']) node.last.onmessage!({ data });
  node.last.deliver({ type: "UNKNOWN", errors: [{ code: "UNKNOWN_MESSAGE", message: "what?" }] });
  node.last.deliver({ type: "FUTURE" });
  node.notify("nobody's", {});
  expect(problems.map(({ code }) => code)).toEqual(["INVALID_JSON", "INVALID_JSON", "INVALID_JSON", "UNKNOWN_MESSAGE"]);
  expect(carillon.state.status).toBe("connected");
});
