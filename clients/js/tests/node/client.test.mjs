// The built package in Node, with the package `ws`, against the real node.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import WebSocket from "ws";
import { EmitError, Emitter } from "@carillon/client/emitter";
import { Broker, until } from "../broker.mjs";
import { clientOf, emitterOf, recordOf } from "./clients.mjs";

describe("a client in Node", { concurrency: 4 }, () => {
  test("connects, registers, receives, unsubscribes and closes", async (t) => {
    const broker = await Broker.start(t);
    for (const headers of [false, true]) {
      const { carillon, states } = clientOf(t, broker, { headers });
      const orders = carillon.subscribe("orders", { condition: { recipientId: "u42", total: { $gte: 100 } }, select: { total: 1 } });
      const bare = carillon.subscribe("orders", { getEventData: false });
      const received = recordOf(orders);
      const metas = [];
      bare.on("notification", (data, meta) => metas.push([data, meta.event]));
      await until(() => orders.state === "registered" && bare.state === "registered");
      const emitter = emitterOf(broker);
      await emitter.emit("orders", { recipientId: "u42", total: 99 });
      await emitter.emit("orders", { recipientId: "u42", total: 100 });
      await until(() => received.length === 1 && metas.length === 2);
      assert.deepEqual(received, [{ total: 100 }]);
      assert.deepEqual(metas[0], [undefined, "orders"]);
      await orders.unsubscribe();
      await emitter.emit("orders", { recipientId: "u42", total: 101 });
      await until(() => metas.length === 3);
      assert.equal(received.length, 1);
      await carillon.close();
      assert.deepEqual(states.map(({ status }) => status), ["connected", "disconnected"]);
      assert.equal(states[1].reason.closeCode, 1000);
      assert.equal(states[1].willRetry, false);
    }
  });

  test("works from CommonJS too", async (t) => {
    const broker = await Broker.start(t);
    const require = createRequire(import.meta.url);
    const { Carillon: Common } = require("@carillon/client");
    assert.ok(require("@carillon/client/emitter").Emitter);
    const carillon = new Common(broker.url, { WebSocket, tokens: () => broker.tokens() });
    const orders = carillon.subscribe("orders");
    await until(() => orders.state === "registered");
    await carillon.close();
  });

  test("a loop reads in order until the client is closed", async (t) => {
    const broker = await Broker.start(t);
    const { carillon } = clientOf(t, broker);
    const orders = carillon.subscribe("orders");
    const read = [];
    const loop = (async () => {
      for await (const { n } of orders) read.push(n);
    })();
    await until(() => orders.state === "registered");
    const results = await emitterOf(broker).emitAll(Array.from({ length: 500 }, (_, n) => ({ name: "orders", data: { n } })));
    assert.ok(results.every((result) => !(result instanceof EmitError) && result.id));
    await until(() => read.length === 500);
    assert.deepEqual(read, Array.from({ length: 500 }, (_, n) => n));
    await carillon.close();
    await loop;
  });

  test("an invalid condition is refused with the node's message, and other subscriptions are registered", async (t) => {
    const broker = await Broker.start(t);
    const { carillon } = clientOf(t, broker);
    const bad = carillon.subscribe("orders", { condition: { a: { $near: 1 } } });
    const good = carillon.subscribe("orders");
    await until(() => bad.state === "refused" && good.state === "registered");
    assert.equal(bad.error.code, "CONDITION_INVALID");
    assert.match(bad.error.message, /\$near/);
  });

  test("emit errors have a code and a status", async (t) => {
    const broker = await Broker.start(t);
    const emitter = emitterOf(broker);
    await assert.rejects(emitter.emit("", 1), { code: "EVENT_NAME_INVALID", status: 400 });
    await assert.rejects(emitter.emit("orders", "x".repeat(300_000)), { code: "PAYLOAD_TOO_LARGE", status: 413 });
    await assert.rejects(new Emitter(broker.url, { token: "nope", project: "demo" }).emit("orders", 1), { code: "TOKEN_INVALID", status: 401 });
    const results = await emitter.emitAll([{ name: "orders", data: 1 }, { name: "", data: 1 }, { name: "orders", data: 2 }]);
    assert.deepEqual(results.map((result) => result.code ?? "taken"), ["taken", "EVENT_NAME_INVALID", "taken"]);
  });

  test("an emit over the rate limit succeeds after a wait", async (t) => {
    const broker = await Broker.start(t, { LIMITS__EMITS_PER_SECOND: 5 });
    const emitter = emitterOf(broker);
    const emitted = await Promise.all(Array.from({ length: 12 }, () => emitter.emit("orders", 1)));
    assert.equal(new Set(emitted.map(({ id }) => id)).size, 12);
  });

  test("an invalid token stops the client after five attempts", async (t) => {
    const broker = await Broker.start(t);
    let fetched = 0;
    t.mock.method(Math, "random", () => 0);
    const { carillon } = clientOf(t, broker, { tokens: () => (fetched++, { api: "nope", user: "nope" }) });
    const orders = carillon.subscribe("orders");
    await until(() => orders.state === "ended");
    assert.equal(fetched, 5);
    assert.equal(carillon.state.willRetry, false);
    assert.equal(carillon.state.reason.closeCode, 4401);
    assert.equal(carillon.state.reason.error.code, "TOKEN_INVALID");
  });

  test("1,000 subscriptions are registered, receive, and are registered again after a reconnect", async (t) => {
    const broker = await Broker.start(t, { LIMITS__SUBSCRIPTIONS: 1000 });
    const { carillon, states } = clientOf(t, broker);
    let received = 0;
    let gaps = 0;
    const all = Array.from({ length: 1000 }, (_, n) => {
      const subscription = carillon.subscribe("orders", { condition: { n } });
      subscription.on("notification", (data) => (received += data.n === n));
      subscription.on("gap", () => gaps++);
      return subscription;
    });
    const areRegistered = () => all.every(({ state }) => state === "registered");
    await until(areRegistered);
    await emitterOf(broker).emitAll(Array.from({ length: 1000 }, (_, n) => ({ name: "orders", data: { n } })));
    await until(() => received === 1000);
    await broker.kill();
    await broker.restart();
    await until(() => gaps === 1000 && areRegistered());
    assert.equal(states.filter(({ status }) => status === "connected").length, 2);
    await Promise.all(all.map((subscription) => subscription.unsubscribe()));
  });

  test("one subscription above the limit is refused", async (t) => {
    const broker = await Broker.start(t);
    const { carillon } = clientOf(t, broker);
    const all = Array.from({ length: 101 }, () => carillon.subscribe("orders"));
    await until(() => all.every(({ state }) => state !== "registering"));
    assert.deepEqual(all.filter(({ state }) => state === "refused").map(({ error }) => error.code), ["TOO_MANY_SUBSCRIPTIONS"]);
  });

  test("a handshake that is refused for too many sessions is retried after a longer wait", async (t) => {
    const broker = await Broker.start(t, { LIMITS__SESSIONS_PER_USER: 1 });
    const first = clientOf(t, broker);
    await until(() => first.carillon.state.status === "connected");
    const { carillon } = clientOf(t, broker);
    await until(() => carillon.state.status === "disconnected");
    assert.equal(carillon.state.willRetry, true);
    assert.equal(carillon.state.reason.closeCode, 4429);
    await first.carillon.close();
    await until(() => carillon.state.status === "connected");
  });

  test("a process that closed its clients ends by itself, even if tokens() never resolves", async (t) => {
    const broker = await Broker.start(t);
    const { api, user } = broker.tokens();
    const program = fileURLToPath(new URL("closes.mjs", import.meta.url));
    const child = spawn(process.execPath, [program, broker.url, api, user], { stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => child.kill("SIGKILL"));
    const [output] = await once(child.stdout.setEncoding("utf8"), "data");
    assert.equal(output, "closed\n");
    const closedAt = Date.now();
    const [code] = await once(child, "exit");
    assert.equal(code, 0);
    assert.ok(Date.now() - closedAt < 3_000, "a timer is left");
  });
});
