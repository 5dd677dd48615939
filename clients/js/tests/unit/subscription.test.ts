import { describe, expect, test, vi } from "vitest";
import { CarillonError } from "../../src/index.js";
import { MockNode, reconnect, record, setUp, settle, useMockClock } from "./mock_node.js";

useMockClock();

describe("registering", () => {
  test("wraps the criteria and leaves out options that are not set", async () => {
    const { node, carillon } = setUp();
    carillon.subscribe("orders", { condition: { a: { $gte: 1 } }, select: { b: 1 }, getEventData: false });
    carillon.subscribe("orders");
    await settle();
    expect(node.last.sent).toEqual([
      {
        objType: "REGISTER",
        guid: "1",
        onEvents: [
          {
            ref: "0",
            eventType: "CUSTOM_WS_EVENTS",
            apiName: "orders",
            condition: { conditionType: "RESPONSE", criteria: { a: { $gte: 1 } } },
            select: { b: 1 },
            getEventData: false,
          },
          { ref: "1", eventType: "CUSTOM_WS_EVENTS", apiName: "orders" },
        ],
      },
    ]);
  });

  test("1,000 subscriptions are sent in few messages, each within the limits", async () => {
    const { node, carillon } = setUp();
    const all = Array.from({ length: 1000 }, (_, index) => carillon.subscribe("orders", { condition: { index, text: "ä".repeat(100) } }));
    await settle();
    expect(node.last.sent.length).toBeLessThanOrEqual(10);
    for (const text of node.last.texts) expect(Buffer.byteLength(text)).toBeLessThan(65_536);
    expect(all.every(({ state }) => state === "registered")).toBe(true);
    expect(new Set(all.map(({ eventId }) => eventId)).size).toBe(1000);
  });

  test("long conditions are sent in more messages, each within the limits", async () => {
    const { node, carillon } = setUp();
    for (let index = 0; index < 100; index++) carillon.subscribe("orders", { condition: { index, text: "ä".repeat(1_500) } });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(node.last.sent.length).toBeGreaterThan(4);
    for (const text of node.last.texts) expect(Buffer.byteLength(text)).toBeLessThan(65_536);
    expect(node.last.sent.flatMap(({ onEvents }) => onEvents).length).toBe(100);
  });

  test("never more than 50 messages are sent within a second", async () => {
    const { node, carillon } = setUp();
    await settle();
    const times: number[] = [];
    const send = node.last.send.bind(node.last);
    node.last.send = (text) => (times.push(Date.now()), send(text));
    for (let index = 0; index < 120; index++) {
      carillon.subscribe("orders");
      await Promise.resolve();
      await vi.advanceTimersByTimeAsync(1);
    }
    await vi.advanceTimersByTimeAsync(10_000);
    expect(times.length).toBe(120);
    for (const time of times) expect(times.filter((other) => other >= time && other < time + 1000).length).toBeLessThanOrEqual(41);
  });

  test("a subscription that is too long for a message is refused by the client", async () => {
    const { node, carillon } = setUp();
    const subscription = carillon.subscribe("orders", { condition: { text: "a".repeat(70_000) } });
    const other = carillon.subscribe("orders");
    await settle();
    expect(subscription.error?.code).toBe("PAYLOAD_TOO_LARGE");
    expect(other.state).toBe("registered");
    expect(node.last.sent.length).toBe(1);
  });

  test("a condition that is not JSON throws", () => {
    const { carillon } = setUp();
    expect(() => carillon.subscribe("orders", { condition: { n: 1n } })).toThrow(TypeError);
  });

  test("one refused entry does not affect the others", async () => {
    const node = new MockNode();
    node.refuse = ({ apiName }) => (apiName === "bad" ? { code: "CONDITION_INVALID", message: "unknown operator $near" } : undefined);
    const { carillon } = setUp({}, node);
    const [first, bad, last] = ["good", "bad", "good"].map((name) => carillon.subscribe(name));
    const received = record(bad!);
    await settle();
    expect([first!.state, bad!.state, last!.state]).toEqual(["registered", "refused", "registered"]);
    expect(bad!.error).toBeInstanceOf(CarillonError);
    expect(bad!.error!.message).toBe("unknown operator $near");
    expect(received).toEqual(["refused CONDITION_INVALID"]);
    await reconnect(node);
    expect(node.last.of("REGISTER").flatMap(({ onEvents }) => onEvents).length).toBe(2);
  });

  test("a temporarily refused subscription is registered again", async () => {
    const node = new MockNode();
    node.refuse = () => ({ code: "TEMPORARILY_UNAVAILABLE", message: "the bus is away" });
    const { carillon } = setUp({}, node);
    const subscription = carillon.subscribe("orders");
    await vi.advanceTimersByTimeAsync(20_000);
    expect(subscription.state).toBe("registering");
    expect(node.last.of("REGISTER").length).toBeGreaterThan(1);
    expect(node.last.of("REGISTER").length).toBeLessThan(12);
    node.refuse = () => undefined;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(subscription.state).toBe("registered");
  });
});

describe("receiving", () => {
  test("notifications reach their subscription, with their metadata", async () => {
    const { node, carillon } = setUp();
    const [first, second] = [carillon.subscribe<{ n: number }>("orders"), carillon.subscribe("orders")];
    const listener = vi.fn();
    first.on("notification", listener);
    second.on("notification", () => expect.unreachable());
    await settle();
    node.notify(first.eventId, { n: 1 });
    expect(listener).toHaveBeenCalledExactlyOnceWith({ n: 1 }, { event: "orders", eventId: first.eventId, text: expect.stringContaining('"n":1') });
  });

  test("a parser of the application keeps numbers that JSON.parse rounds", async () => {
    const parse = (text: string) => JSON.parse(text.replace(/9007199254740993/, '"9007199254740993"'));
    const { node, carillon } = setUp({ parse });
    const subscription = carillon.subscribe("orders");
    const received = record(subscription);
    await settle();
    node.last.onmessage!({ data: `{"type":"NOTIFICATION","response":{"eventId":"${subscription.eventId}","eventData":9007199254740993}}` });
    expect(received.at(-1)).toBe('notification "9007199254740993"');
  });

  test("the error of a listener is reported and affects nothing else", async () => {
    const report = vi.fn();
    vi.stubGlobal("reportError", report);
    const { node, carillon } = setUp();
    const subscription = carillon.subscribe("orders");
    subscription.on("notification", () => {
      throw new Error("mine");
    });
    const received = record(subscription);
    await settle();
    node.notify(subscription.eventId, 1);
    expect(report).toHaveBeenCalledExactlyOnceWith(new Error("mine"));
    expect(received.at(-1)).toBe("notification 1");
    vi.unstubAllGlobals();
  });

  test("a listener is called until it is removed", async () => {
    const { node, carillon } = setUp();
    const subscription = carillon.subscribe("orders");
    const listener = vi.fn();
    const off = subscription.on("notification", listener);
    await settle();
    node.notify(subscription.eventId, 1);
    off();
    node.notify(subscription.eventId, 2);
    expect(listener).toHaveBeenCalledTimes(1);
  });

  test("a gap of the node reaches its subscription", async () => {
    const { node, carillon } = setUp();
    const subscription = carillon.subscribe("orders");
    const received = record(subscription);
    await settle();
    node.last.deliver({ type: "GAP", response: { eventId: subscription.eventId, reason: "BUS_RECONNECTED" } });
    expect(received.at(-1)).toBe("gap BUS_RECONNECTED");
  });
});

describe("reconnecting", () => {
  test("everything is registered again, and then a gap is raised", async () => {
    const { node, carillon } = setUp();
    const subscription = carillon.subscribe("orders");
    const received = record(subscription);
    await settle();
    await reconnect(node);
    node.notify(subscription.eventId, 7);
    expect(received).toEqual(["registered", "registering", "registered", "gap RECONNECTED", "notification 7"]);
  });

  test("a subscription made while disconnected is sent on connecting, without a gap", async () => {
    const { node, carillon } = setUp();
    await settle();
    node.last.end(1006);
    const received = record(carillon.subscribe("orders"));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(received).toEqual(["registered"]);
  });

  test("a lost answer causes no gap", async () => {
    const { node, carillon } = setUp();
    await settle();
    node.isSilent = true;
    const received = record(carillon.subscribe("orders"));
    await settle();
    node.isSilent = false;
    await reconnect(node);
    expect(received).toEqual(["registered"]);
  });

  test("with history the subscription continues at its position, and duplicates are dropped", async () => {
    const node = new MockNode();
    node.extra = ({ recover }) => ({ epoch: "k", offset: recover ? 9 : 3, ...(recover && { recovered: true, replayed: 2 }) });
    const { carillon } = setUp({}, node);
    const subscription = carillon.subscribe("orders");
    const received = record(subscription);
    await settle();
    for (const offset of [3, 4, 5, 5]) node.notify(subscription.eventId, offset, { epoch: "k", offset });
    await reconnect(node);
    expect(node.last.sent[0]!.onEvents[0].recover).toEqual({ epoch: "k", offset: 5 });
    for (const offset of [5, 8, 9, 9, 10]) node.notify(subscription.eventId, offset, { epoch: "k", offset });
    node.notify(subscription.eventId, 1, { epoch: "new", offset: 1 });
    const notifications = [4, 5].map((offset) => `notification ${offset}`);
    const recovered = [8, 9, 10, 1].map((offset) => `notification ${offset}`);
    expect(received).toEqual(["registered", ...notifications, "registering", "registered", ...recovered]);
  });

  test("a position that is no longer stored causes a gap and a new position", async () => {
    const node = new MockNode();
    node.extra = ({ recover }) => (recover ? { epoch: "new", offset: 1, recovered: false } : { epoch: "old", offset: 50 });
    const { carillon } = setUp({}, node);
    const subscription = carillon.subscribe("orders");
    const received = record(subscription);
    await settle();
    await reconnect(node);
    node.notify(subscription.eventId, 2, { epoch: "new", offset: 2 });
    expect(received).toEqual(["registered", "registering", "registered", "gap RECONNECTED", "notification 2"]);
  });

  test("late answers of an old session are ignored", async () => {
    const { node, carillon } = setUp();
    await settle();
    node.isSilent = true;
    const subscription = carillon.subscribe("orders");
    await settle();
    const old = node.last;
    const { onmessage } = old;
    node.isSilent = false;
    await reconnect(node);
    const { eventId } = subscription;
    onmessage?.({ data: JSON.stringify({ type: "REGISTER", guid: "1", response: { validOnEvents: [{ ref: "0", eventId: "old" }], invalidOnEvents: [] } }) });
    expect(subscription.eventId).toBe(eventId);
  });
});

describe("unsubscribing", () => {
  test("calls no listener any more, and resolves when the node has answered", async () => {
    const { node, carillon } = setUp();
    const subscription = carillon.subscribe("orders");
    const received = record(subscription);
    await settle();
    const { eventId } = subscription;
    const done = subscription.unsubscribe();
    node.notify(eventId, 1);
    await done;
    expect(node.last.of("UNREGISTER")).toMatchObject([{ onEvents: [{ eventId }] }]);
    expect(received).toEqual(["registered", "ended unsubscribed"]);
    await subscription.unsubscribe();
    await reconnect(node);
    expect(node.last.sent).toEqual([]);
  });

  test("before anything was sent, sends nothing", async () => {
    const { node, carillon } = setUp();
    await settle();
    await carillon.subscribe("orders").unsubscribe();
    await settle();
    expect(node.last.sent).toEqual([]);
  });

  test("before the node answers, unregisters when the answer arrives", async () => {
    const { node, carillon } = setUp();
    await settle();
    node.isSilent = true;
    const subscription = carillon.subscribe("orders");
    await settle();
    const done = subscription.unsubscribe();
    node.isSilent = false;
    node.last.deliver({ type: "REGISTER", guid: "1", response: { validOnEvents: [{ ref: "0", eventId: "77" }], invalidOnEvents: [] } });
    await done;
    expect(node.last.of("UNREGISTER")).toMatchObject([{ onEvents: [{ eventId: "77" }] }]);
    expect(subscription.state).toBe("ended");
  });

  test("before the node answers, stays ended if the node refuses", async () => {
    const { node, carillon } = setUp();
    await settle();
    node.isSilent = true;
    const subscription = carillon.subscribe("orders");
    await settle();
    const done = subscription.unsubscribe();
    const error = { code: "CONDITION_INVALID", message: "no" };
    node.last.deliver({ type: "REGISTER", guid: "1", response: { validOnEvents: [], invalidOnEvents: [{ ref: "0", error }] } });
    await done;
    expect(subscription.state).toBe("ended");
    expect(subscription.error).toBeUndefined();
  });

  test("many at once are one message", async () => {
    const { node, carillon } = setUp();
    const all = Array.from({ length: 50 }, () => carillon.subscribe("orders"));
    await settle();
    await Promise.all(all.map((subscription) => subscription.unsubscribe()));
    expect(node.last.of("UNREGISTER").length).toBe(1);
  });

  test("resolves if the connection is lost before the answer", async () => {
    const { node, carillon } = setUp();
    const subscription = carillon.subscribe("orders");
    await settle();
    node.isSilent = true;
    const done = subscription.unsubscribe();
    await settle();
    node.last.end(1006);
    await done;
  });

  test("happens at a signal, whose listener is then removed", async () => {
    const { carillon } = setUp();
    const controller = new AbortController();
    const remove = vi.spyOn(controller.signal, "removeEventListener");
    const subscription = carillon.subscribe("orders", { signal: controller.signal });
    const other = carillon.subscribe("orders", { signal: controller.signal });
    await settle();
    await other.unsubscribe();
    expect(remove).toHaveBeenCalledTimes(1);
    controller.abort();
    expect(subscription.state).toBe("ended");
    expect(remove).toHaveBeenCalledTimes(2);
    expect(carillon.subscribe("orders", { signal: controller.signal }).state).toBe("ended");
  });
});
