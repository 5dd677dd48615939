// The built package in Node against a real node that fails, and with tokens that expire.

import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { once } from "node:events";
import { describe, test } from "node:test";
import { Emitter } from "@carillon/client/emitter";
import { Broker, until } from "../broker.mjs";
import { clientOf, emitterOf, recordOf } from "./clients.mjs";

describe("a client in Node, after failures,", { concurrency: 4 }, () => {
  test("after a restart of the node the client reconnects, raises a gap, and receives again", async (t) => {
    const broker = await Broker.start(t);
    const { carillon, states } = clientOf(t, broker);
    const orders = carillon.subscribe("orders");
    const received = recordOf(orders);
    await until(() => orders.state === "registered");
    await broker.stop();
    await until(() => states.length >= 2);
    assert.equal(states[1].reason.closeCode, 1001);
    assert.equal(states[1].willRetry, true);
    await broker.restart();
    await until(() => received.includes("gap RECONNECTED"));
    await emitterOf(broker).emit("orders", { n: 1 });
    await until(() => received.length === 2);
    assert.deepEqual(received, ["gap RECONNECTED", { n: 1 }]);
  });

  test("an emit is retried until the node is back, and is delivered once", async (t) => {
    const broker = await Broker.start(t);
    const { carillon } = clientOf(t, broker);
    const orders = carillon.subscribe("orders");
    const received = recordOf(orders);
    await until(() => orders.state === "registered");
    const emitter = new Emitter(broker.url, { token: broker.tokens().api, retries: 10 });
    await broker.kill();
    const emitted = emitter.emit("orders", { n: 1 });
    await broker.restart();
    assert.ok((await emitted).id);
    await until(() => received.includes("gap RECONNECTED"));
    const first = await emitter.emit("orders", { n: 2 }, { idempotencyKey: "k" });
    const second = await emitter.emit("orders", { n: 2 }, { idempotencyKey: "k" });
    assert.deepEqual([first.duplicate, second.duplicate, second.id], [false, true, first.id]);
    await emitter.emit("orders", { n: 3 });
    await until(() => received.some(({ n }) => n === 3));
    assert.equal(received.filter(({ n }) => n === 2).length, 1);
  });

  test("tokens are renewed on the same connection, several times", async (t) => {
    const broker = await Broker.start(t, { AUTH__LEEWAY_SECONDS: 0 });
    let fetched = 0;
    const { carillon, states } = clientOf(t, broker, { tokens: () => (fetched++, broker.tokens("u1", "6s")) });
    carillon.on("problem", (error) => assert.fail(error));
    const received = recordOf(carillon.subscribe("orders"));
    await until(() => fetched >= 3);
    await emitterOf(broker).emit("orders", { n: 1 });
    await until(() => received.length === 1);
    assert.deepEqual(states.map(({ status }) => status), ["connected"]);
  });

  test("a failed renewal is reported, and new tokens are fetched after 4401", async (t) => {
    const broker = await Broker.start(t, { AUTH__LEEWAY_SECONDS: 0 });
    const stale = broker.tokens("u1", "3s");
    let mayRenew = false;
    const { carillon, states } = clientOf(t, broker, { tokens: () => (mayRenew ? broker.tokens() : stale) });
    const problems = [];
    carillon.on("problem", ({ code }) => problems.push(code));
    const received = recordOf(carillon.subscribe("orders"));
    await until(() => states.some(({ status }) => status === "disconnected"));
    mayRenew = true;
    assert.ok(problems.includes("TOKENS_NOT_RENEWED"));
    assert.equal(states.find(({ status }) => status === "disconnected").reason.closeCode, 4401);
    await until(() => received.includes("gap RECONNECTED"));
  });

  test("a renewal for another person is refused, and the old tokens stay in use", async (t) => {
    const broker = await Broker.start(t, { AUTH__LEEWAY_SECONDS: 0 });
    let person = 1;
    const { carillon } = clientOf(t, broker, { tokens: () => broker.tokens(`u${person++}`, "4s") });
    const problems = [];
    carillon.on("problem", ({ code }) => problems.push(code));
    await until(() => problems.length > 0);
    assert.equal(problems[0], "TOKEN_INVALID");
    assert.equal(carillon.state.status, "connected");
  });

  test("a dead connection is detected by missing pings", async (t) => {
    const broker = await Broker.start(t, { SESSION__PING_SECONDS: 1 });
    const proxy = await FreezableProxy.open(t, broker.port);
    const { carillon, states } = clientOf(t, { url: `ws://127.0.0.1:${proxy.port}`, tokens: () => broker.tokens() });
    const orders = carillon.subscribe("orders");
    const received = recordOf(orders);
    await until(() => orders.state === "registered");
    proxy.isFrozen = true;
    await until(() => states.length >= 2);
    assert.equal(states[1].reason.closeCode, 4408);
    proxy.isFrozen = false;
    await until(() => received.includes("gap RECONNECTED"));
  });

  test("an idle connection with pings stays open", async (t) => {
    const broker = await Broker.start(t, { SESSION__PING_SECONDS: 1 });
    const { carillon, states } = clientOf(t, broker);
    await until(() => carillon.state.status === "connected");
    const end = Date.now() + 4_000;
    await until(() => Date.now() > end);
    assert.equal(states.length, 1);
  });
});

/** A proxy to the node that can drop all bytes without closing connections, like a network without signal. */
class FreezableProxy {
  isFrozen = false;

  static async open(t, port) {
    const proxy = new FreezableProxy();
    const sockets = new Set();
    const server = createServer((near) => {
      const far = connect(port, "127.0.0.1");
      for (const [from, to] of [[near, far], [far, near]]) {
        sockets.add(from);
        from.on("data", (data) => proxy.isFrozen || to.write(data));
        from.on("error", () => {});
        from.on("close", () => proxy.isFrozen || to.destroy());
      }
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    proxy.port = server.address().port;
    return proxy;
  }
}
