// The hooks in a browser, in React's strict mode, which mounts everything twice.

import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "esbuild";
import { Emitter } from "../../dist/esm/emitter.js";
import { Broker, subscriptionsOf, until } from "../broker.mjs";
import { file, serve, useBrowser } from "./pages.mjs";

const use = useBrowser();

async function openHooks(t, broker) {
  const { outputFiles } = await build({
    entryPoints: [file("tests/browser/hooks.tsx").pathname],
    bundle: true,
    format: "esm",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"development"' },
    write: false,
    logLevel: "error",
  });
  const html = '<!doctype html><title>hooks</title><body><script type="module" src="/hooks.js"></script>';
  const origin = await serve(t, { "/index.html": html, "/hooks.js": outputFiles[0].text }, () => broker.tokens());
  const context = await use.browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(`${origin}/index.html?url=${encodeURIComponent(broker.url)}`);
  return {
    page,
    errors,
    received: () => page.evaluate(() => received),
    view: (part) => until(async () => matches(await page.evaluate(() => window.view), part)),
    set: (properties) => page.evaluate((properties) => setProperties(properties), properties),
  };
}

function matches(view, part) {
  return Object.entries(part).every(([name, value]) => view?.[name] === value);
}

test("a component receives while it is mounted, and subscribes again when its condition changes", async (t) => {
  const broker = await Broker.start(t);
  const { page, errors, received, view, set } = await openHooks(t, broker);
  const emitter = new Emitter(broker.url, { token: broker.tokens().api });
  const emit = (recipientId, n) => emitter.emit("orders", { recipientId, n });
  await view({ connection: "connected", state: "registered", n: null });
  assert.equal(await subscriptionsOf(broker), 1);
  await emit("u1", 1);
  await view({ n: 1 });
  await set({ recipientId: "u2" });
  await view({ state: "registered", n: null });
  await until(async () => (await subscriptionsOf(broker)) === 1);
  await emit("u1", 2);
  await emit("u2", 3);
  await view({ n: 3 });
  const renderings = await page.evaluate(() => countRenderings());
  await set({ recipientId: "u2" }); // the same by value: no new subscription
  await view({ n: 3 });
  assert.ok((await page.evaluate(() => countRenderings())) - renderings <= 2);
  await set({ recipientId: "u2", enabled: false });
  await until(async () => (await subscriptionsOf(broker)) === 0);
  await set({ recipientId: "u2", hasClient: false });
  await view({ connection: null });
  await set({ recipientId: "u2" });
  await view({ connection: "connected", state: "registered" });
  await set(null);
  await until(async () => (await subscriptionsOf(broker)) === 0);
  assert.deepEqual(await received(), ["u1 1", "u2 3"]);
  assert.deepEqual(errors, []);
});

test("a component sees a lost connection, a reconnect, and a gap", async (t) => {
  const broker = await Broker.start(t);
  const { received, view } = await openHooks(t, broker);
  await view({ state: "registered" });
  await broker.stop();
  await view({ connection: "disconnected", state: "registering" });
  await broker.restart();
  await view({ connection: "connected", state: "registered", gaps: 1 });
  assert.deepEqual(await received(), ["RECONNECTED"]);
});
