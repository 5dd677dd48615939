// The built package in Node against a real node that goes away, and with tokens that end.

import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { once } from "node:events";
import { describe, test } from "node:test";
import { Emitter } from "@carillon/client/emitter";
import { Broker, until } from "../broker.mjs";
import { clientOf, emitterOf, recordOf } from "./clients.mjs";

describe("a client in Node, in trouble,", { concurrency: 4 }, () => {
  test("a node that stops and starts again is found, with a gap, and tells again", async (t) => {
    const broker = await Broker.start(t);
    const { carillon, states } = clientOf(t, broker);
    const orders = carillon.subscribe("orders");
    const told = recordOf(orders);
    await until(() => orders.state === "registered");
    await broker.stop();
    await until(() => states.length >= 2);
    assert.equal(states[1].reason.closeCode, 1001);
    assert.equal(states[1].willRetry, true);
    await broker.restart();
    await until(() => told.includes("gap RECONNECTED"));
    await emitterOf(broker).emit("orders", { n: 1 });
    await until(() => told.length === 2);
    assert.deepEqual(told, ["gap RECONNECTED", { n: 1 }]);
  });

  test("an emit waits for a node that is away, and is told once", async (t) => {
    const broker = await Broker.start(t);
    const { carillon } = clientOf(t, broker);
    const orders = carillon.subscribe("orders");
    const told = recordOf(orders);
    await until(() => orders.state === "registered");
    const emitter = new Emitter(broker.url, { token: broker.tokens().api, retries: 10 });
    await broker.kill();
    const emitted = emitter.emit("orders", { n: 1 });
    await broker.restart();
    assert.ok((await emitted).id);
    await until(() => told.includes("gap RECONNECTED"));
    const first = await emitter.emit("orders", { n: 2 }, { idempotencyKey: "k" });
    const second = await emitter.emit("orders", { n: 2 }, { idempotencyKey: "k" });
    assert.deepEqual([first.duplicate, second.duplicate, second.id], [false, true, first.id]);
    await emitter.emit("orders", { n: 3 });
    await until(() => told.some(({ n }) => n === 3));
    assert.equal(told.filter(({ n }) => n === 2).length, 1);
  });

  test("tokens are renewed over the same connection, again and again", async (t) => {
    const broker = await Broker.start(t, { AUTH__LEEWAY_SECONDS: 0 });
    let fetched = 0;
    const { carillon, states } = clientOf(t, broker, { tokens: () => (fetched++, broker.tokens("u1", "6s")) });
    carillon.on("problem", (error) => assert.fail(error));
    const told = recordOf(carillon.subscribe("orders"));
    await until(() => fetched >= 3);
    await emitterOf(broker).emit("orders", { n: 1 });
    await until(() => told.length === 1);
    assert.deepEqual(states.map(({ status }) => status), ["connected"]);
  });

  test("a renewal that fails is told, and new tokens are fetched after 4401", async (t) => {
    const broker = await Broker.start(t, { AUTH__LEEWAY_SECONDS: 0 });
    const stale = broker.tokens("u1", "3s");
    let mayRenew = false;
    const { carillon, states } = clientOf(t, broker, { tokens: () => (mayRenew ? broker.tokens() : stale) });
    const problems = [];
    carillon.on("problem", ({ code }) => problems.push(code));
    const told = recordOf(carillon.subscribe("orders"));
    await until(() => states.some(({ status }) => status === "disconnected"));
    mayRenew = true;
    assert.ok(problems.includes("TOKENS_NOT_RENEWED"));
    assert.equal(states.find(({ status }) => status === "disconnected").reason.closeCode, 4401);
    await until(() => told.includes("gap RECONNECTED"));
  });

  test("a renewal for another person is refused, and the old tokens stay", async (t) => {
    const broker = await Broker.start(t, { AUTH__LEEWAY_SECONDS: 0 });
    let person = 1;
    const { carillon } = clientOf(t, broker, { tokens: () => broker.tokens(`u${person++}`, "4s") });
    const problems = [];
    carillon.on("problem", ({ code }) => problems.push(code));
    await until(() => problems.length > 0);
    assert.equal(problems[0], "TOKEN_INVALID");
    assert.equal(carillon.state.status, "connected");
  });

  test("a connection that is dead without a word is found by the missing pings", async (t) => {
    const broker = await Broker.start(t, { SESSION__PING_SECONDS: 1 });
    const tunnel = await Tunnel.open(t, broker.port);
    const { carillon, states } = clientOf(t, { url: `ws://127.0.0.1:${tunnel.port}`, tokens: () => broker.tokens() });
    const orders = carillon.subscribe("orders");
    const told = recordOf(orders);
    await until(() => orders.state === "registered");
    tunnel.isFrozen = true;
    await until(() => states.length >= 2);
    assert.equal(states[1].reason.closeCode, 4408);
    tunnel.isFrozen = false;
    await until(() => told.includes("gap RECONNECTED"));
  });

  test("an idle connection with pings is left alone", async (t) => {
    const broker = await Broker.start(t, { SESSION__PING_SECONDS: 1 });
    const { carillon, states } = clientOf(t, broker);
    await until(() => carillon.state.status === "connected");
    const end = Date.now() + 4_000;
    await until(() => Date.now() > end);
    assert.equal(states.length, 1);
  });
});

/** A way to the node that can swallow everything, as a train's tunnel does. */
class Tunnel {
  isFrozen = false;

  static async open(t, port) {
    const tunnel = new Tunnel();
    const sockets = new Set();
    const server = createServer((near) => {
      const far = connect(port, "127.0.0.1");
      for (const [from, to] of [[near, far], [far, near]]) {
        sockets.add(from);
        from.on("data", (data) => tunnel.isFrozen || to.write(data));
        from.on("error", () => {});
        from.on("close", () => tunnel.isFrozen || to.destroy());
      }
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    tunnel.port = server.address().port;
    return tunnel;
  }
}
