// The node's try page, used as a person uses it. TRY_SCREENSHOT names a file for screenshots.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { Broker, until } from "../broker.mjs";
import { useBrowser } from "./pages.mjs";

const use = useBrowser();

const DESKTOP = { width: 1280, height: 1110 };
const PHONE = { width: 390, height: 844 };

/** Screens on which the results of an emit must be in view. */
const SCREENS = {
  "phone of 390×844": { viewport: PHONE, hasTouch: true, isMobile: true },
  "window of 800×600": { viewport: { width: 800, height: 600 } },
  "desktop of 1280×800": { viewport: { width: 1280, height: 800 } },
};

const PAID = `{
  "recipientId": "u42",
  "order_no": 9007199254740993,
  "status": "PAID",
  "total": 249.00
}`;

/** Opens the page at the address that a node prints. `errors` collects errors and requests to other hosts. */
async function openTry(t, broker, { viewport = DESKTOP, tokens = broker.tokens("u42"), ...options } = {}) {
  const context = await use.browser.newContext({ viewport, locale: "en-US", timezoneId: "UTC", ...options });
  t.after(() => context.close());
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("request", (request) => new URL(request.url()).host === broker.address || errors.push(`asks ${request.url()}`));
  const answer = await page.goto(`${broker.url}/try#${new URLSearchParams(tokens)}`);
  const policy = answer.headers()["content-security-policy"];
  assert.ok(/default-src 'none'/.test(policy) && !/unsafe/.test(policy), policy);
  const person = {
    click: (name) => page.getByRole("button", { name, exact: true }).click(),
    write: (label, text) => page.getByRole("textbox", { name: label }).fill(text),
    sees: async (selector, pattern) => {
      let texts;
      const isThere = async () => (texts = await page.locator(selector).allTextContents()).some((text) => pattern.test(text));
      await until(isThere).catch(() => assert.fail(`${selector} never showed ${pattern}, but ${JSON.stringify(texts)}`));
    },
    lines: (selector) => page.locator(selector).allTextContents(),
  };
  return { page, errors, person };
}

/** Takes a screenshot if TRY_SCREENSHOT asks for it; `name` is added to the file name. */
async function saveScreenshot(page, name = "", options = {}) {
  const path = process.env.TRY_SCREENSHOT?.replace(/\.png$/, `${name}.png`);
  if (path) await page.screenshot({ path, ...options });
}

/** Whether the whole box of an element is inside the viewport. */
async function inViewport(page, selector) {
  return page.locator(selector).evaluate((element) => {
    const { top, bottom, left, right, height } = element.getBoundingClientRect();
    return height > 0 && top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
  });
}

/** The modules that an entry of the try page imports, by file name. */
function importsOf(path) {
  return [...readFileSync(path, "utf8").matchAll(/^import .* from "\.\/(?:try\/)?(\w+\.js)"/gm)].map(([, name]) => name);
}

test("modules of the try page import each other in one direction: try.js, views, state", () => {
  const folder = new URL("../../../../src/http/console/try/", import.meta.url);
  const state = ["client.js", "connection.js", "emit_history.js", "json.js", "tokens.js"];
  const shared = ["page.js", "log.js"]; // parts that views share; log.js is built on page.js
  const views = ["connection_view.js", "emit.js", "logged_socket.js", "notifications.js", "subscriptions.js"];
  const names = readdirSync(folder).sort();
  assert.deepEqual(names, [...state, ...shared, ...views].sort(), "every module has its place");
  for (const name of names) {
    const allowed = state.includes(name) ? state : name === "page.js" ? state : name === "log.js" ? [...state, "page.js"] : [...state, ...shared];
    for (const imported of importsOf(new URL(name, folder))) assert.ok(allowed.includes(imported), `${name} imports ${imported}`);
    if (state.includes(name) && name !== "client.js") assert.doesNotMatch(readFileSync(new URL(name, folder), "utf8"), /document\b|element\(/, name);
  }
  const visit = (name, path) => {
    assert.ok(!path.includes(name), `a ring: ${[...path, name].join(" → ")}`);
    for (const imported of importsOf(new URL(name, folder))) visit(imported, [...path, name]);
  };
  for (const name of names) visit(name, []);
});

describe("the try page", { concurrency: 3 }, () => {
  test("connects, registers, emits, and shows only events that match", async (t) => {
    const broker = await Broker.start(t);
    const { page, errors, person } = await openTry(t, broker);
    await person.sees("#state", /^Connected$/);
    assert.equal(new URL(page.url()).hash, "", "no token stays in the address");
    await person.sees("#facts", /u42/);
    await person.click("Register");
    await person.sees("#subscriptions .registration", /^registered$/);
    await person.click("Emit");
    await person.sees("#notifications .data", /"total": 129\.90/);
    await person.sees("#emit-delivered", /Delivered to one subscription of this page/);
    await person.click("not matching example: fill in");
    await person.click("Emit");
    await person.sees("#emit-delivered", /No subscription of this page matched/);
    await page.locator("#event-data").fill(PAID);
    await person.click("Emit");
    await person.sees("#notifications .data", /9007199254740993/);
    await person.sees("#subscriptions .received-count", /^2 received$/);
    assert.equal((await person.lines("#notifications li")).length, 2);
    await page.getByText("Frames in and out").click();
    const frames = (await person.lines("#log li")).join("\n");
    assert.match(frames, /subprotocols: carillon\.v1, api\.…, user\.…/);
    for (const token of Object.values(broker.tokens("u42"))) assert.ok(!(await page.content()).includes(token));
    await page.evaluate(() => scrollTo(0, 0));
    await saveScreenshot(page);
    await person.click("Unregister order-updates, #1");
    await until(async () => (await person.lines("#subscriptions li")).length === 0);
    await person.click("Disconnect");
    await person.sees("#state", /^Not connected$/);
    await until(async () => /close 1000/.test((await person.lines("#log li"))[0]));
    assert.deepEqual(errors, []);
  });

  test("reconnects and registers again after a restart of the node, and shows a gap", async (t) => {
    const broker = await Broker.start(t);
    const { page, errors, person } = await openTry(t, broker);
    await person.sees("#state", /^Connected$/);
    await person.click("Register");
    await person.sees("#subscriptions .registration", /^registered$/);
    await broker.stop();
    await person.sees("#state", /^Disconnected, will retry in \d+ s$/);
    await person.sees("#connect-problem", /^1001: The node stops/);
    await person.sees("#subscriptions .registration", /^registering$/);
    await saveScreenshot(page, "-away");
    await broker.restart();
    await person.sees("#state", /^Connected$/);
    await person.sees("#subscriptions .registration", /^registered$/);
    await person.sees("#notifications .gap .name", /^gap: RECONNECTED$/);
    assert.equal((await person.lines("#connect-problem"))[0], "");
    await person.click("Emit");
    await person.sees("#notifications .data", /"total": 129\.90/);
    // The browser reports attempts that failed while the node was down.
    assert.deepEqual(errors.filter((error) => !/WebSocket connection to/.test(error)), []);
  });

  test("shows why tokens are refused, and accepts new ones", async (t) => {
    const broker = await Broker.start(t);
    const { api, user } = broker.tokens("u42");
    const { person } = await openTry(t, broker, { tokens: { api, user: `${user}x` } });
    await person.sees("#connect-problem", /^TOKEN_INVALID: .*\n4401: A token is invalid or expired.*\nThe client has stopped/);
    await person.sees("#state", /^Disconnected$/);
    await person.write("User token", "two words");
    await person.click("Connect");
    await person.sees("#connect-problem", /A token has characters that no token has/);
    await person.write("User token", user);
    await person.click("Connect");
    await person.sees("#state", /^Connected$/);
    assert.equal((await person.lines("#connect-problem"))[0], "");
  });

  test("uses new tokens on the same connection before the old ones expire", async (t) => {
    const broker = await Broker.start(t, { AUTH__LEEWAY_SECONDS: 0 });
    const { page, person } = await openTry(t, broker, { tokens: broker.tokens("u42", "20s") });
    await person.sees("#connect-problem", /the tokens end soon/);
    await page.locator("#tokens > summary").click();
    await person.write("User token", broker.tokens("u42").user);
    await page.keyboard.press("Tab");
    await page.getByText("Frames in and out").click();
    await person.sees("#log li", /in \{"type":"REFRESH".*expiresAt/);
    await person.sees("#connect-problem", /^$/);
    assert.deepEqual((await person.lines("#log li")).filter((line) => /WebSocket/.test(line)).length, 1);
  });

  test("shows why the node refuses a condition, and numbers keep their digits", async (t) => {
    const broker = await Broker.start(t);
    const { page, person } = await openTry(t, broker);
    await person.write(/^Condition/, '{"a":{"$near":1}}');
    await person.click("Register");
    await person.sees("#register-problem", /^CONDITION_INVALID: .*\$near/);
    await person.write(/^Condition/, "[1]");
    await person.click("Register");
    await person.sees("#register-problem", /The condition is a JSON object/);
    await person.write(/^Condition/, '{"order_no":9007199254740993}');
    await person.click("Register");
    await person.sees("#subscriptions .registration", /^registered$/);
    for (const number of ["9007199254740992", "9007199254740993"]) {
      await page.locator("#event-data").fill(`{"order_no":${number}}`);
      await person.click("Emit");
      await person.sees("#emit-delivered", number.endsWith("2") ? /No subscription of this page matched/ : /Delivered to one/);
    }
  });

  for (const [name, options] of Object.entries(SCREENS)) {
    test(`shows the answer and the notification after Emit without scrolling, ${name}`, async (t) => {
      const broker = await Broker.start(t);
      const { page, errors, person } = await openTry(t, broker, options);
      await person.sees("#state", /^Connected$/);
      await person.click("Register");
      await person.sees("#subscriptions .registration", /^registered$/);
      for (const press of [() => person.click("Emit"), () => page.locator("#emit").press("Enter")]) {
        const count = (await person.lines("#notifications li")).length;
        await press();
        await until(async () => (await person.lines("#notifications li")).length === count + 1);
        await person.sees("#emit-status", /^200$/);
        for (const result of ["#emit-answer", "#notifications li:first-child"]) {
          await until(() => inViewport(page, result), 5_000).catch(async () => assert.fail(`${result} is at ${JSON.stringify(await page.locator(result).boundingBox())}`));
        }
      }
      assert.equal(await page.evaluate(() => document.activeElement.id), "emit", "the focus stays on the button");
      await person.sees("#announcer", /2 notifications\. The emit was answered with 200\.|answered with 200\. 2 notifications\./);
      if (options.viewport.width >= 720) {
        const [left, right] = await page.evaluate(() => ["emit-form", "notifications"].map((id) => document.getElementById(id).getBoundingClientRect()).map(({ left, right }) => ({ left, right })));
        assert.ok(right.left >= left.right, "results are in a second column");
      }
      await saveScreenshot(page, `-results-${options.viewport.width}`);
      await page.locator("#event-data").fill("{");
      await person.click("Emit");
      await person.sees("#emit-problem", /is not JSON/);
      await until(() => inViewport(page, "#emit-problem"));
      assert.deepEqual(errors, []);
    });
  }

  for (const colorScheme of ["light", "dark"]) {
    test(`fits a phone, ${colorScheme}`, async (t) => {
      const broker = await Broker.start(t);
      const { page, errors, person } = await openTry(t, broker, { viewport: PHONE, hasTouch: true, isMobile: true, colorScheme });
      await person.sees("#state", /^Connected$/);
      await person.click("Register");
      await person.sees("#subscriptions .registration", /^registered$/);
      await person.click("Emit");
      await person.sees("#notifications .data", /"total": 129\.90/);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no horizontal scrolling");
      const small = await page.evaluate(() => [...document.querySelectorAll("button")].filter((button) => button.offsetParent && button.offsetHeight < 32).map(({ id }) => id));
      assert.deepEqual(small, [], "buttons are at least 32 px high");
      await saveScreenshot(page, `-phone-${colorScheme}`, { fullPage: true });
      await broker.stop();
      await person.sees("#state", /^Disconnected, will retry in \d+ s$/);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no horizontal scrolling");
      assert.deepEqual(errors, []);
    });
  }
});
