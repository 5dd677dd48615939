// What a listener may do while it is called.

import { describe, expect, test, vi } from "vitest";
import { MockNode, record, settle, setUp, statusOf, useMockClock } from "./mock_node.js";

useMockClock();

describe("a listener", () => {
  test("for a lost connection may close the client, which then stays closed", async () => {
    const { node, carillon, states } = setUp();
    const orders = carillon.subscribe("orders");
    orders.on("registering", () => void carillon.close());
    await settle();
    node.last.end(1001);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(statusOf(states)).toEqual(["connected", "disconnected"]);
    expect(carillon.state).toMatchObject({ willRetry: false, reason: { closeCode: 1000 } });
    expect(node.sockets.length).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("for an end may close the client again, and both calls wait for the close handshake", async () => {
    const { node, carillon, states } = setUp();
    const orders = carillon.subscribe("orders");
    const closed = vi.fn();
    orders.on("ended", () => void carillon.close().then(closed));
    await settle();
    node.isSilent = true;
    void carillon.close().then(closed);
    await settle();
    expect(closed).not.toHaveBeenCalled();
    node.last.end(1000);
    await settle();
    expect(closed).toHaveBeenCalledTimes(2);
    expect(statusOf(states)).toEqual(["connected", "disconnected"]);
  });

  test("for an end by the node may close the client, and the node's reason is kept", async () => {
    const { node, carillon, states } = setUp();
    const orders = carillon.subscribe("orders");
    orders.on("ended", () => void carillon.close());
    await settle();
    node.last.end(4403, "ended by an administrator");
    await settle();
    expect(statusOf(states)).toEqual(["connected", "disconnected"]);
    expect(carillon.state).toMatchObject({ willRetry: false, reason: { closeCode: 4403 } });
  });

  test("of one subscription may end another one during the same event, which then stays ended", async () => {
    const { node, carillon } = setUp();
    const first = carillon.subscribe("orders");
    const second = carillon.subscribe("orders");
    first.on("registering", () => void second.unsubscribe());
    const received = record(second);
    await settle();
    node.last.end(1001);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(received).toEqual(["registered", "ended unsubscribed"]);
    expect(second.state).toBe("ended");
    expect(first.state).toBe("registered");
  });

  test("for an answer may close the client, and the rest of the answer has no effect", async () => {
    const { carillon } = setUp();
    const first = carillon.subscribe("orders");
    const second = carillon.subscribe("orders");
    first.on("registered", () => void carillon.close());
    const received = record(second);
    await settle();
    expect(received).toEqual(["ended closed"]);
    expect(second.state).toBe("ended");
  });

  test("that unsubscribes is the last one that is called", async () => {
    const { node, carillon } = setUp();
    const orders = carillon.subscribe("orders");
    const received: string[] = [];
    orders.on("notification", () => received.push("first"));
    orders.on("notification", () => void orders.unsubscribe());
    orders.on("notification", () => received.push("third"));
    await settle();
    node.notify(orders.eventId, 1);
    expect(received).toEqual(["first"]);
  });

  test("that adds itself again is called once per notification", async () => {
    const { node, carillon } = setUp();
    const orders = carillon.subscribe("orders");
    const received: unknown[] = [];
    const again = (n: unknown) => {
      received.push(n);
      orders.off("notification", again);
      orders.on("notification", again);
    };
    orders.on("notification", again);
    await settle();
    for (const n of [1, 2]) node.notify(orders.eventId, n);
    expect(received).toEqual([1, 2]);
  });
});

test("a batch that is temporarily refused has one wait, not a longer one for each entry", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0.999999);
  const node = new MockNode();
  node.refuse = () => ({ code: "TEMPORARILY_UNAVAILABLE", message: "later" });
  const { carillon } = setUp({}, node);
  const all = Array.from({ length: 50 }, () => carillon.subscribe("orders"));
  await settle();
  node.refuse = () => undefined;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(all.every(({ state }) => state === "registered")).toBe(true);
});
