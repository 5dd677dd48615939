import { describe, expect, test } from "vitest";
import { MockNode, reconnect, record, setUp, settle, useMockClock } from "./mock_node.js";

useMockClock();

describe("iterating", () => {
  test("yields notifications, and finishes when the subscription ends", async () => {
    const { node, carillon } = setUp();
    const subscription = carillon.subscribe<number>("orders");
    const read: number[] = [];
    const loop = (async () => {
      for await (const value of subscription) read.push(value);
    })();
    await settle();
    for (const value of [1, 2, 3]) node.notify(subscription.eventId, value);
    await settle();
    expect(read).toEqual([1, 2, 3]);
    void subscription.unsubscribe();
    await loop;
    expect(await subscription[Symbol.asyncIterator]().next()).toEqual({ value: undefined, done: true });
  });

  test("buffers up to its limit, then drops the oldest and raises one gap", async () => {
    const { node, carillon } = setUp();
    const subscription = carillon.subscribe<number>("orders", { buffer: 3 });
    const received: string[] = [];
    subscription.on("gap", (reason) => received.push(reason));
    const iteration = subscription[Symbol.asyncIterator]();
    await settle();
    for (const value of [1, 2, 3, 4, 5]) node.notify(subscription.eventId, value);
    expect(received).toEqual(["BUFFER_OVERFLOW"]);
    for (const value of [3, 4, 5]) expect(await iteration.next()).toEqual({ value, done: false });
    for (const value of [6, 7, 8, 9]) node.notify(subscription.eventId, value);
    expect(received).toEqual(["BUFFER_OVERFLOW", "BUFFER_OVERFLOW"]);
    void subscription.unsubscribe();
    for (const value of [7, 8, 9]) expect(await iteration.next()).toEqual({ value, done: false });
    expect((await iteration.next()).done).toBe(true);
  });

  test("throws when the subscription is refused, and no rejection is left unhandled", async () => {
    const node = new MockNode();
    node.refuse = () => ({ code: "CONDITION_INVALID", message: "no" });
    const { carillon } = setUp({}, node);
    const subscription = carillon.subscribe("orders");
    const idle = subscription[Symbol.asyncIterator]();
    const loop = (async () => {
      for await (const _ of subscription) expect.unreachable();
    })();
    await expect(loop).rejects.toThrow("no");
    await expect(idle.next()).rejects.toThrow("no");
    expect((await idle.next()).done).toBe(true);
    await expect(subscription[Symbol.asyncIterator]().next()).rejects.toThrow("no");
  });

  test("break ends the iteration only: the subscription stays registered, and nothing is buffered for the loop", async () => {
    const { node, carillon } = setUp();
    const subscription = carillon.subscribe<number>("orders", { buffer: 1 });
    const events = record(subscription);
    const loop = (async () => {
      for await (const _ of subscription) break;
    })();
    await settle();
    node.notify(subscription.eventId, 1);
    await loop;
    for (const value of [2, 3, 4]) node.notify(subscription.eventId, value);
    await settle();
    expect(events).toEqual(["registered", "notification 1", "notification 2", "notification 3", "notification 4"]);
    expect(subscription.state).toBe("registered");
    expect(node.last.of("UNREGISTER")).toEqual([]);
    const again = subscription[Symbol.asyncIterator]();
    node.notify(subscription.eventId, 5);
    expect(await again.next()).toEqual({ value: 5, done: false });
  });

  test("continues after a reconnect", async () => {
    const { node, carillon } = setUp();
    const subscription = carillon.subscribe<number>("orders");
    const iteration = subscription[Symbol.asyncIterator]();
    await settle();
    await reconnect(node);
    node.notify(subscription.eventId, 5);
    expect(await iteration.next()).toEqual({ value: 5, done: false });
  });
});
