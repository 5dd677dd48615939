// Debian's Chromium, and a server whose pages have a strict content security policy: own scripts and styles only.

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** With these flags the browser sends requests only to the pages under test. */
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-sync"];

/** Playwright's default flags that keep timers of hidden pages running. Browsers of users do not have them. */
const UNREAL = ["--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding"];

const POLICY = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self' ws://127.0.0.1:*; base-uri 'none'";

const TYPES = { html: "text/html", js: "text/javascript", css: "text/css" };

/** One browser for all tests of a file. */
export function useBrowser(...flags) {
  const use = {};
  before(async () => {
    use.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM_BIN ?? "/usr/bin/chromium",
      args: [...FLAGS, ...flags],
      ignoreDefaultArgs: UNREAL,
    });
  });
  after(() => use.browser?.close());
  return use;
}

/** Serves files by path, and tokens. Returns the server's origin. */
export async function serve(t, files, tokens) {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://x").pathname;
    response.setHeader("content-security-policy", POLICY);
    if (path === "/tokens") {
      const answer = await tokens();
      response.writeHead(answer ? 200 : 403, { "content-type": "application/json" });
      return response.end(JSON.stringify(answer ?? {}));
    }
    const file = files[path];
    if (file === undefined) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": TYPES[path.split(".").pop()] });
    response.end(typeof file === "string" ? file : await readFile(file));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

/** A file of the package. */
export function file(path) {
  return new URL(path, `file://${ROOT}`);
}

/** Serves a page with a client. Returns its URL. */
export async function servePage(t, broker, tokens = () => broker.tokens()) {
  const files = {
    "/index.html": '<!doctype html><title>page</title><script type="module" src="/page.js"></script>',
    "/page.js": file("tests/browser/page.js"),
    "/worker.js": file("tests/browser/worker.js"),
    "/client.js": file("dist/esm/index.js"),
  };
  const origin = await serve(t, files, tokens);
  return `${origin}/index.html?url=${encodeURIComponent(broker.url)}`;
}

/**
 * A page with a client as `window.carillon`. It records events in `window.received`, `window.states` and
 * `window.problems`.
 */
export async function openPage(t, { browser, context }, broker, options = {}) {
  const url = await servePage(t, broker, options.tokens);
  const own = context ?? (await browser.newContext());
  if (!context) t.after(() => own.close());
  const page = await own.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => /Content Security Policy/.test(message.text()) && errors.push(message.text()));
  await page.goto(url);
  await page.waitForFunction(() => window.isReady);
  return {
    page,
    errors,
    context: own,
    received: () => page.evaluate(() => window.received),
    states: () => page.evaluate(() => window.states),
    status: () => page.evaluate(() => window.carillon.state.status),
    cdp: await own.newCDPSession(page),
  };
}
