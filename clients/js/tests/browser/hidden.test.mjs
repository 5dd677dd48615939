// A hidden tab: Chromium runs its timers once a minute only, here from the first second on.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Emitter } from "../../dist/esm/emitter.js";
import { Broker, until } from "../broker.mjs";
import { servePage } from "./pages.mjs";
import { Tabs } from "./tabs.mjs";

const THROTTLED = "--enable-features=IntensiveWakeUpThrottling:grace_period_seconds/1";
const MINUTE = 60_000;

/** A visible tab with a client and a subscription. */
async function openClient(t, broker, tokens) {
  const tabs = await Tabs.open(t, THROTTLED);
  const tab = await tabs.openTab(await servePage(t, broker, tokens));
  const read = (expression) => tabs.evaluate(tab, expression);
  await until(() => read("window.isReady === true"));
  await read('subscribe("orders").then(() => true)');
  return { tabs, tab, read };
}

/** Hides the tab behind another one, and waits until its timers are throttled. */
async function hide({ tabs, read }) {
  await tabs.openTab("about:blank");
  await until(() => read('document.visibilityState === "hidden"'));
  await until(async () => {
    const ticks = await read("ticks");
    const end = Date.now() + 1_500;
    await until(() => Date.now() > end);
    return (await read("ticks")) - ticks <= 1;
  });
}

function emit(broker, data) {
  return new Emitter(broker.url, { token: broker.tokens().api }).emit("orders", data);
}

test("a hidden tab receives, and reconnects at once when it is visible again", async (t) => {
  const broker = await Broker.start(t);
  const client = await openClient(t, broker);
  await hide(client);
  await emit(broker, { n: 1 });
  await until(() => client.read("received.length === 1"));
  await broker.kill();
  await until(() => client.read('carillon.state.status === "disconnected"'));
  await broker.restart();
  await client.tabs.show(client.tab);
  const seenAt = Date.now();
  await until(() => client.read('received.includes("gap RECONNECTED")'));
  assert.ok(Date.now() - seenAt < 5_000);
  await emit(broker, { n: 2 });
  await until(() => client.read("received.length === 3"));
});

test("a tab hidden for minutes renews its tokens on the same connection, and reconnects while hidden", async (t) => {
  const broker = await Broker.start(t, { SESSION__PING_SECONDS: 5, AUTH__LEEWAY_SECONDS: 0 });
  let fetched = 0;
  const client = await openClient(t, broker, () => (fetched++, broker.tokens("u1", "150s")));
  await hide(client);
  const end = Date.now() + 2 * MINUTE;
  await until(() => Date.now() > end && fetched >= 2, 3 * MINUTE);
  assert.deepEqual(await client.read("states.map(({ status }) => status)"), ["connected"]);
  await emit(broker, { n: 1 });
  await until(() => client.read("received.length === 1"));
  await broker.kill();
  await broker.restart();
  await until(() => client.read('received.includes("gap RECONNECTED")'), 2 * MINUTE);
  assert.equal(await client.read('carillon.state.status === "connected" && document.visibilityState'), "hidden");
});
