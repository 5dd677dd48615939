// What a listener may do in the middle of being told.

import { describe, expect, test, vi } from "vitest";
import { FakeNode, record, settle, setUp, statusOf, useFakeClock } from "./fake_node.js";

useFakeClock();

describe("a listener", () => {
  test("of a broken connection may close the client, which then stays closed", async () => {
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

  test("of an end may close the client again, and both wait for the goodbye", async () => {
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

  test("of an end that the node willed may close the client, and the node's reason stands", async () => {
    const { node, carillon, states } = setUp();
    const orders = carillon.subscribe("orders");
    orders.on("ended", () => void carillon.close());
    await settle();
    node.last.end(4403, "ended by an administrator");
    await settle();
    expect(statusOf(states)).toEqual(["connected", "disconnected"]);
    expect(carillon.state).toMatchObject({ willRetry: false, reason: { closeCode: 4403 } });
  });

  test("of one subscription may end another that is told the same, which then stays ended", async () => {
    const { node, carillon } = setUp();
    const first = carillon.subscribe("orders");
    const second = carillon.subscribe("orders");
    first.on("registering", () => void second.unsubscribe());
    const told = record(second);
    await settle();
    node.last.end(1001);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(told).toEqual(["registered", "ended unsubscribed"]);
    expect(second.state).toBe("ended");
    expect(first.state).toBe("registered");
  });

  test("of an answer may close the client, and what else the answer says revives nothing", async () => {
    const { carillon } = setUp();
    const first = carillon.subscribe("orders");
    const second = carillon.subscribe("orders");
    first.on("registered", () => void carillon.close());
    const told = record(second);
    await settle();
    expect(told).toEqual(["ended closed"]);
    expect(second.state).toBe("ended");
  });

  test("that unsubscribes is the last to be told", async () => {
    const { node, carillon } = setUp();
    const orders = carillon.subscribe("orders");
    const told: string[] = [];
    orders.on("notification", () => told.push("first"));
    orders.on("notification", () => void orders.unsubscribe());
    orders.on("notification", () => told.push("third"));
    await settle();
    node.notify(orders.eventId, 1);
    expect(told).toEqual(["first"]);
  });

  test("that adds itself again is told once of each", async () => {
    const { node, carillon } = setUp();
    const orders = carillon.subscribe("orders");
    const told: unknown[] = [];
    const again = (n: unknown) => {
      told.push(n);
      orders.off("notification", again);
      orders.on("notification", again);
    };
    orders.on("notification", again);
    await settle();
    for (const n of [1, 2]) node.notify(orders.eventId, n);
    expect(told).toEqual([1, 2]);
  });
});

test("a batch that can't be taken now waits once, not longer for each of its entries", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0.999999);
  const node = new FakeNode();
  node.judge = () => ({ code: "TEMPORARILY_UNAVAILABLE", message: "later" });
  const { carillon } = setUp({}, node);
  const all = Array.from({ length: 50 }, () => carillon.subscribe("orders"));
  await settle();
  node.judge = () => undefined;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(all.every(({ state }) => state === "registered")).toBe(true);
});
