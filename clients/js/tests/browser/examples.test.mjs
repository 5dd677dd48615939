// The pages of examples/ and of the README, as a new user has them before the eyes.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Emitter } from "../../dist/esm/emitter.js";
import { serveExample } from "../../examples/serve.mjs";
import { Broker, until } from "../broker.mjs";
import { file, serve, useBrowser } from "./pages.mjs";

const use = useBrowser();

const ORDER = { recipientId: "u42", order_no: 1001, status: "SHIPPED" };

function emit(broker, data) {
  return new Emitter(broker.url, { token: broker.tokens().api }).emit("order-updates", data);
}

/** Opens a page whose faults fail the test. */
async function open(t, url, options = {}) {
  const context = await use.browser.newContext(options);
  t.after(() => context.close());
  const page = await context.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => message.type() === "error" && !/favicon/.test(message.location().url) && faults.push(message.text()));
  await page.goto(url);
  return { page, faults, lines: () => page.locator("#orders li").allTextContents() };
}

for (const example of ["plain", "react"]) {
  test(`the ${example} example shows what is there, what comes, and fetches anew after a gap`, async (t) => {
    const broker = await Broker.start(t);
    const server = await serveExample(example, { url: broker.url, tokens: () => broker.tokens() });
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
    const { page, faults, lines } = await open(t, `http://127.0.0.1:${server.address().port}/`);
    await until(async () => (await lines()).length === 1);
    await emit(broker, { ...ORDER, recipientId: "u43" });
    await emit(broker, ORDER);
    await until(async () => (await lines()).length === 2);
    assert.deepEqual(await lines(), ["1000: OPEN", "1001: SHIPPED"]);
    assert.equal(await page.locator("#state").textContent(), "connected");
    assert.deepEqual(faults, []);
    await broker.stop();
    await until(async () => (await page.locator("#state").textContent()) !== "connected");
    await broker.restart();
    await until(async () => (await page.locator("#state").textContent()) === "connected");
    await until(async () => (await lines()).length === 1);
    // Emitted until it stays: a fetch for the gap may be under way, and the list that it brings knows nothing of this order.
    await until(async () => (await emit(broker, ORDER), (await lines()).length > 1));
  });
}

test("the first page of the README works as it stands", async (t) => {
  const broker = await Broker.start(t);
  const readme = await readFile(file("README.md"), "utf8");
  const { api, user } = broker.tokens();
  const html = /```html\n([\s\S]*?)```/.exec(readme)[1];
  assert.ok(html.trim().split("\n").length <= 20, "a page of at most 20 lines");
  const page = html.replace("ws://127.0.0.1:8080", broker.url).replace("API_TOKEN", api).replace("USER_TOKEN", user);
  const origin = await serve(t, { "/page.html": page, "/index.js": file("dist/esm/index.js") }, () => null);
  const { faults, lines } = await open(t, `${origin}/page.html`, { bypassCSP: true });
  await until(async () => (await emit(broker, ORDER), (await lines()).includes("1001: SHIPPED")));
  assert.deepEqual(faults, []);
});
