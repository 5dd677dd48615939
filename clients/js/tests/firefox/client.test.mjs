// The built package in Firefox against the real node: what browsers may do differently.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Emitter } from "../../dist/esm/emitter.js";
import { Broker, until } from "../broker.mjs";
import { useFirefox } from "./firefox.mjs";

const firefox = useFirefox();

function emit(broker, data) {
  return new Emitter(broker.url, { token: broker.tokens().api }).emit("orders", data);
}

describe("a client in a page of Firefox", { concurrency: 3 }, () => {
  test("connects, registers, receives and closes under a strict content security policy", async (t) => {
    const broker = await Broker.start(t);
    const { read, errors } = await firefox.openPage(t, broker);
    await read('subscribe("orders", { condition: { recipientId: "u42" }, select: { n: 1 } })');
    await emit(broker, { recipientId: "u43", n: 1 });
    await emit(broker, { recipientId: "u42", n: 2 });
    await until(() => read("received.length === 1"));
    assert.deepEqual(await read("received"), [{ n: 2 }]);
    const state = await read("carillon.close().then(() => carillon.state)");
    assert.deepEqual([state.status, state.willRetry, state.reason.closeCode], ["disconnected", false, 1000]);
    assert.deepEqual(errors, []);
  });

  test("after a restart of the node the client reconnects, raises a gap, and receives again", async (t) => {
    const broker = await Broker.start(t);
    const { read } = await firefox.openPage(t, broker);
    await read('subscribe("orders")');
    await broker.stop();
    await until(() => read('states.some(({ status }) => status === "disconnected")'));
    assert.equal(await read("states[1].reason.closeCode"), 1001);
    await broker.restart();
    await until(() => read("received.length === 1"));
    await emit(broker, { n: 1 });
    await until(() => read("received.length === 2"));
    assert.deepEqual(await read("received"), ["gap RECONNECTED", { n: 1 }]);
  });

  test("two tabs receive independently, and one closes without the other", async (t) => {
    const broker = await Broker.start(t);
    const first = await firefox.openPage(t, broker);
    const second = await firefox.openPage(t, broker);
    for (const { read } of [first, second]) await read('subscribe("orders")');
    await emit(broker, { n: 1 });
    await until(async () => (await first.read("received.length === 1")) && (await second.read("received.length === 1")));
    await first.close();
    await emit(broker, { n: 2 });
    await until(() => second.read("received.length === 2"));
  });

  test("a page that was offline reconnects when it is online", async (t) => {
    const broker = await Broker.start(t);
    const { read, setOffline } = await firefox.openPage(t, broker);
    await read('subscribe("orders")');
    await setOffline(true);
    await until(() => read("navigator.onLine === false"));
    await broker.kill();
    await until(() => read("states.at(-1).willRetry === true"));
    await broker.restart();
    await setOffline(false);
    await until(() => read('received.includes("gap RECONNECTED")'));
    await emit(broker, { n: 1 });
    await until(() => read("received.length === 2"));
  });

  test("tokens are renewed on the same connection, and the client stops when a renewal failed and its tokens expire", async (t) => {
    const broker = await Broker.start(t, { AUTH__LEEWAY_SECONDS: 0 });
    let fetched = 0;
    const { read } = await firefox.openPage(t, broker, () => (++fetched <= 2 ? broker.tokens("u1", "4s") : null));
    await until(() => fetched >= 3);
    assert.deepEqual(await read("states.map(({ status }) => status)"), ["connected"]);
    await until(() => read("carillon.state.willRetry === false"));
    assert.equal(await read("carillon.state.reason.error.code"), "NO_TOKENS");
  });

  test("1,000 subscriptions in one page are registered and receive", async (t) => {
    const broker = await Broker.start(t, { LIMITS__SUBSCRIPTIONS: 1000 });
    const { read } = await firefox.openPage(t, broker);
    await read('Promise.all(Array.from({ length: 1000 }, (_, n) => subscribe("orders", { condition: { n } }))).then(() => 0)');
    const emitter = new Emitter(broker.url, { token: broker.tokens().api });
    await emitter.emitAll(Array.from({ length: 1000 }, (_, n) => ({ name: "orders", data: { n } })));
    await until(() => read("received.length === 1000"));
    assert.equal(await read("new Set(received.map(({ n }) => n)).size"), 1000);
    assert.deepEqual(await read("states.map(({ status, reason }) => reason?.message ?? status)"), ["connected"]);
  });

  test("the try page connects, registers, emits and shows notifications", async (t) => {
    const broker = await Broker.start(t);
    const { read, errors } = await firefox.openTab(t, `${broker.url}/try#${new URLSearchParams(broker.tokens("u42"))}`);
    const textOf = (selector) => read(`document.querySelector("${selector}")?.textContent`);
    const click = (id) => read(`document.getElementById("${id}").click()`);
    await until(async () => (await textOf("#state")) === "Connected");
    await click("register");
    await until(async () => (await textOf("#subscriptions .registration")) === "registered");
    await click("emit");
    await until(async () => /"total": 129\.90/.test(await textOf("#notifications .data")));
    assert.deepEqual(errors, []);
  });
});
