// The build for a script tag, in a page without modules.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Emitter } from "../../dist/esm/emitter.js";
import { Broker, until } from "../broker.mjs";
import { file, serve, useBrowser } from "./pages.mjs";

const use = useBrowser();

const HTML = `<!doctype html>
<script src="/carillon.min.js"></script>
<script src="/page.js"></script>`;

const PAGE = `
const url = new URLSearchParams(location.search).get("url");
const carillon = new Carillon(url, { tokens: async () => (await fetch("/tokens")).json() });
window.received = [];
window.orders = carillon.subscribe("orders");
orders.on("notification", (order) => received.push(order));
`;

test("a plain script element defines the one global Carillon, which receives notifications", async (t) => {
  const broker = await Broker.start(t);
  const files = { "/index.html": HTML, "/page.js": PAGE, "/carillon.min.js": file("dist/carillon.min.js"), "/empty.html": "<!doctype html>" };
  const origin = await serve(t, files, () => broker.tokens());
  const context = await use.browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(`${origin}/empty.html`);
  const before = await page.evaluate(() => Object.getOwnPropertyNames(window));
  await page.goto(`${origin}/index.html?url=${encodeURIComponent(broker.url)}`);
  const after = await page.evaluate(() => Object.getOwnPropertyNames(window));
  assert.deepEqual(after.filter((name) => !before.includes(name)).sort(), ["Carillon", "orders", "received"]);
  await until(() => page.evaluate(() => orders.state === "registered"));
  await new Emitter(broker.url, { token: broker.tokens().api }).emit("orders", { n: 1 });
  await until(() => page.evaluate(() => received.length === 1));
  assert.deepEqual(await page.evaluate(() => received), [{ n: 1 }]);
  assert.deepEqual(errors, []);
});
