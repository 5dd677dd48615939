// The built package in a real browser against the real node.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Emitter } from "../../dist/esm/emitter.js";
import { Broker, until } from "../broker.mjs";
import { openPage, useBrowser } from "./pages.mjs";

const use = useBrowser();

function emit(broker, data) {
  return new Emitter(broker.url, { token: broker.tokens().api }).emit("orders", data);
}

describe("a client in a page", { concurrency: 3 }, () => {
  test("connects, registers, receives and closes under a strict content security policy", async (t) => {
    const broker = await Broker.start(t);
    const { page, received, errors } = await openPage(t, use, broker);
    await page.evaluate(() => subscribe("orders", { condition: { recipientId: "u42" }, select: { n: 1 } }));
    await emit(broker, { recipientId: "u43", n: 1 });
    await emit(broker, { recipientId: "u42", n: 2 });
    await until(async () => (await received()).length === 1);
    assert.deepEqual(await received(), [{ n: 2 }]);
    const state = await page.evaluate(() => carillon.close().then(() => carillon.state));
    assert.deepEqual([state.status, state.willRetry, state.reason.closeCode], ["disconnected", false, 1000]);
    assert.deepEqual(errors, []);
  });

  test("a loop reads notifications", async (t) => {
    const broker = await Broker.start(t);
    const { page } = await openPage(t, use, broker);
    const read = page.evaluate(async () => {
      const read = [];
      const orders = carillon.subscribe("orders");
      orders.on("registered", () => (window.isListening = true));
      for await (const { n } of orders) if (read.push(n) === 3) break;
      return read;
    });
    await page.waitForFunction(() => window.isListening);
    for (const n of [1, 2, 3]) await emit(broker, { n });
    assert.deepEqual(await read, [1, 2, 3]);
  });

  test("after a restart of the node the client reconnects, raises a gap, and receives again", async (t) => {
    const broker = await Broker.start(t);
    const { page, received, states } = await openPage(t, use, broker);
    await page.evaluate(() => subscribe("orders"));
    await broker.stop();
    await until(async () => (await states()).some(({ status }) => status === "disconnected"));
    assert.equal((await states())[1].reason.closeCode, 1001);
    await broker.restart();
    await until(async () => (await received()).length === 1);
    await emit(broker, { n: 1 });
    await until(async () => (await received()).length === 2);
    assert.deepEqual(await received(), ["gap RECONNECTED", { n: 1 }]);
  });

  test("two tabs receive independently, and one closes without the other", async (t) => {
    const broker = await Broker.start(t);
    const first = await openPage(t, use, broker);
    const second = await openPage(t, { context: first.context }, broker);
    for (const { page } of [first, second]) await page.evaluate(() => subscribe("orders"));
    await emit(broker, { n: 1 });
    await until(async () => (await first.received()).length === 1 && (await second.received()).length === 1);
    await first.page.close();
    await emit(broker, { n: 2 });
    await until(async () => (await second.received()).length === 2);
  });

  test("a page that was offline reconnects at once when it is online", async (t) => {
    const broker = await Broker.start(t);
    const { page, received, states, cdp } = await openPage(t, use, broker);
    await page.evaluate(() => subscribe("orders"));
    const conditions = { latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
    await cdp.send("Network.enable");
    await cdp.send("Network.emulateNetworkConditions", { offline: true, ...conditions });
    await broker.kill(); // whatever offline does to an open socket, the proxy ends it
    await until(async () => (await states()).at(-1).willRetry === true);
    await broker.restart();
    await page.evaluate(() => (window.onlineAt = undefined, addEventListener("online", () => (window.onlineAt = Date.now()))));
    await cdp.send("Network.emulateNetworkConditions", { offline: false, ...conditions });
    await until(async () => (await received()).includes("gap RECONNECTED"));
    assert.ok(await page.evaluate(() => window.onlineAt));
    await emit(broker, { n: 1 });
    await until(async () => (await received()).length === 2);
  });

  test("a page that was frozen during a restart of the node reconnects", async (t) => {
    const broker = await Broker.start(t);
    const { page, received, cdp } = await openPage(t, use, broker);
    await page.evaluate(() => subscribe("orders"));
    await cdp.send("Page.setWebLifecycleState", { state: "frozen" });
    await broker.kill();
    await broker.restart();
    await cdp.send("Page.setWebLifecycleState", { state: "active" });
    await until(async () => (await received()).includes("gap RECONNECTED"));
    await emit(broker, { n: 1 });
    await until(async () => (await received()).length === 2);
  });

  test("tokens are renewed on the same connection", async (t) => {
    const broker = await Broker.start(t, { AUTH__LEEWAY_SECONDS: 0 });
    let fetched = 0;
    const { page, states, received } = await openPage(t, use, broker, { tokens: () => (fetched++, broker.tokens("u1", "6s")) });
    await page.evaluate(() => subscribe("orders"));
    await until(() => fetched >= 3);
    await emit(broker, { n: 1 });
    await until(async () => (await received()).length === 1);
    assert.deepEqual((await states()).map(({ status }) => status), ["connected"]);
    assert.deepEqual(await page.evaluate(() => problems), []);
  });

  test("a failed renewal is reported, and the client stops when its tokens expire", async (t) => {
    const broker = await Broker.start(t, { AUTH__LEEWAY_SECONDS: 0 });
    let first = true;
    const tokens = () => {
      const answer = first ? broker.tokens("u1", "3s") : null;
      first = false;
      return answer;
    };
    const { page } = await openPage(t, use, broker, { tokens });
    await page.evaluate(() => subscribe("orders"));
    const isOver = () => carillon.state.willRetry === false;
    await until(() => page.evaluate(isOver));
    assert.equal((await page.evaluate(() => problems))[0], "NO_TOKENS");
    assert.equal(await page.evaluate(() => carillon.state.reason.error.code), "NO_TOKENS");
  });

  test("1,000 subscriptions in one page are registered and receive", async (t) => {
    const broker = await Broker.start(t, { LIMITS__SUBSCRIPTIONS: 1000 });
    const { page, received, states } = await openPage(t, use, broker);
    await page.evaluate(() => Promise.all(Array.from({ length: 1000 }, (_, n) => subscribe("orders", { condition: { n } }))));
    const emitter = new Emitter(broker.url, { token: broker.tokens().api });
    await emitter.emitAll(Array.from({ length: 1000 }, (_, n) => ({ name: "orders", data: { n } })));
    await until(async () => (await received()).length === 1000);
    assert.equal(new Set((await received()).map(({ n }) => n)).size, 1000);
    assert.equal((await states()).length, 1);
  });

  test("a worker has a client of its own", async (t) => {
    const broker = await Broker.start(t);
    const { page } = await openPage(t, use, broker);
    const received = page.evaluate(
      (url) =>
        new Promise((resolve) => {
          const worker = new Worker(`/worker.js?url=${encodeURIComponent(url)}`, { type: "module" });
          worker.onmessage = ({ data }) => (data === "registered" ? (window.isListening = true) : resolve(data));
        }),
      broker.url,
    );
    await page.waitForFunction(() => window.isListening);
    await emit(broker, { n: 1 });
    assert.deepEqual(await received, { n: 1 });
  });
});
