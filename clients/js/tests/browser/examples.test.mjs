// The pages of examples/ and of both READMEs, as a new user runs them.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Emitter } from "../../dist/esm/emitter.js";
import { serveExample } from "../../examples/serve.mjs";
import { Broker, subscriptionsOf, until } from "../broker.mjs";
import { file, serve, useBrowser } from "./pages.mjs";

const use = useBrowser();

const ORDER = { recipientId: "u42", order_no: 1001, status: "SHIPPED" };

function emit(broker, data) {
  return new Emitter(broker.url, { token: broker.tokens().api }).emit("order-updates", data);
}

/** Opens a page and collects its errors. */
async function open(t, url, options = {}) {
  const context = await use.browser.newContext(options);
  t.after(() => context.close());
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && !/favicon/.test(message.location().url) && errors.push(message.text()));
  await page.goto(url);
  return { page, errors, lines: () => page.locator("#orders li").allTextContents() };
}

for (const example of ["plain", "react"]) {
  test(`the ${example} example shows the state and new orders, and fetches the state again after a gap`, async (t) => {
    const broker = await Broker.start(t);
    const server = await serveExample(example, { url: broker.url, tokens: () => broker.tokens() });
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
    const { page, errors, lines } = await open(t, `http://127.0.0.1:${server.address().port}/`);
    await until(async () => (await lines()).length === 1);
    await emit(broker, { ...ORDER, recipientId: "u43" });
    await emit(broker, ORDER);
    await until(async () => (await lines()).length === 2);
    assert.deepEqual(await lines(), ["1000: OPEN", "1001: SHIPPED"]);
    assert.equal(await page.locator("#state").textContent(), "connected");
    assert.deepEqual(errors, []);
    await broker.stop();
    await until(async () => (await page.locator("#state").textContent()) !== "connected");
    await broker.restart();
    await until(async () => (await page.locator("#state").textContent()) === "connected");
    await until(async () => (await lines()).length === 1);
    // Emits until the order stays: a fetch for the gap may still run, and its answer does not have this order.
    await until(async () => (await emit(broker, ORDER), (await lines()).length > 1));
  });
}

/** The blocks of a language in the README's section about a first page. */
async function firstPage() {
  const readme = await readFile(file("README.md"), "utf8");
  const section = /## A first page\n([\s\S]*?)\n## /.exec(readme)[1];
  const blocks = (language) => [...section.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, text]) => text);
  return { html: blocks("html")[0], shell: blocks("sh") };
}

/**
 * Runs lines of the README in the repository, with a folder of the test instead of /tmp. Downloads and builds nothing.
 */
function runLines(lines, folder, variables = {}) {
  const environment = {
    npm_config_ignore_scripts: "true",
    npm_config_offline: "true",
    npm_config_audit: "false",
    npm_config_cache: join(folder, "cache"),
    ...variables,
  };
  const text = lines.replace(/^(npm ci|eval "\$\(cargo) .*$/gm, "").replaceAll("/tmp", folder);
  const options = { cwd: fileURLToPath(file("../..")), env: { ...process.env, ...environment }, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] };
  return execFileSync("bash", ["-euc", text], options);
}

test("the commands and the page of the package's README lead to a first notification", async (t) => {
  const broker = await Broker.start(t);
  const { api, user } = broker.tokens("u42");
  const filledIn = (text) => text.replace("127.0.0.1:8080", broker.address).replace("API_TOKEN", api).replace("USER_TOKEN", user);
  const variables = { API_TOKEN: api, USER_TOKEN: user };
  const folder = await mkdtemp(join(tmpdir(), "carillon-first-page-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const { html, shell: [install, emitLine] } = await firstPage();
  assert.ok(html.trim().split("\n").length <= 20, "the page has at most 20 lines");
  assert.match(runLines(install, folder, variables), new RegExp(`^${api} ${user}$`, "m"));
  const root = join(folder, "first-page");
  const client = "/node_modules/@carillon/client/dist/esm/index.js";
  const origin = await serve(t, { "/index.html": filledIn(html), [client]: pathToFileURL(join(root, client)) }, () => null);
  const { errors, lines } = await open(t, `${origin}/index.html`, { bypassCSP: true });
  await until(async () => (await subscriptionsOf(broker)) === 1);
  assert.match(runLines(emitLine.replace("127.0.0.1:8080", broker.address), folder, variables), /"success":true/);
  await until(async () => (await lines()).length === 1);
  assert.deepEqual(await lines(), ["1001: SHIPPED"]);
  assert.deepEqual(errors, []);
});

test("the client code in the project's README works unchanged", async (t) => {
  const broker = await Broker.start(t);
  const { api, user } = broker.tokens("u42");
  const readme = await readFile(file("../../README.md"), "utf8");
  const text = /```js[^\n]*\n(import \{ Carillon[\s\S]*?)```/.exec(readme)[1];
  assert.ok(text.trim().split("\n").length <= 10, "ten lines");
  const script = text.replace("ws://127.0.0.1:8080", broker.url).replace("@carillon/client", "/client.js");
  const page = '<!doctype html><script type="module" src="/page.js"></script>';
  const head = `const apiToken = "${api}", userToken = "${user}";\n`;
  const origin = await serve(t, { "/index.html": page, "/page.js": script.replace("\n\n", `\n${head}`), "/client.js": file("dist/esm/index.js") }, () => null);
  const { page: tab, errors } = await open(t, `${origin}/index.html`);
  const logged = [];
  tab.on("console", (message) => logged.push(message.text()));
  await until(async () => (await subscriptionsOf(broker)) === 1);
  await emit(broker, { ...ORDER, total: 99 });
  await emit(broker, { ...ORDER, total: 129.9 });
  await until(() => logged.length === 1);
  assert.match(logged[0], /^order-updates .*total: 129\.9/);
  assert.deepEqual(errors, []);
});
