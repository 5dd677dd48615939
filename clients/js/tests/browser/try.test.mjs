// The node's try page, used as a person would. TRY_SCREENSHOT names a file to keep a picture of it in.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Broker, until } from "../broker.mjs";
import { useBrowser } from "./pages.mjs";

const use = useBrowser();

const DESKTOP = { width: 1280, height: 1060 };
const PHONE = { width: 390, height: 844 };

const PAID = `{
  "recipientId": "u42",
  "order_no": 9007199254740993,
  "status": "PAID",
  "total": 249.00
}`;

/** The page at the address that a node prints; what it complains of, and whom it talks to. */
async function openTry(t, broker, { viewport = DESKTOP, tokens = broker.tokens("u42"), ...options } = {}) {
  const context = await use.browser.newContext({ viewport, locale: "en-US", timezoneId: "UTC", ...options });
  t.after(() => context.close());
  const page = await context.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  page.on("request", (request) => new URL(request.url()).host === broker.address || faults.push(`asks ${request.url()}`));
  const answer = await page.goto(`${broker.url}/try#${new URLSearchParams(tokens)}`);
  const policy = answer.headers()["content-security-policy"];
  assert.ok(/default-src 'none'/.test(policy) && !/unsafe/.test(policy), policy);
  const person = {
    click: (name) => page.getByRole("button", { name, exact: true }).click(),
    write: (label, text) => page.getByRole("textbox", { name: label }).fill(text),
    sees: async (selector, pattern) => {
      let texts;
      const isThere = async () => (texts = await page.locator(selector).allTextContents()).some((text) => pattern.test(text));
      await until(isThere).catch(() => assert.fail(`${selector} never said ${pattern}, but ${JSON.stringify(texts)}`));
    },
    lines: (selector) => page.locator(selector).allTextContents(),
  };
  return { page, faults, person };
}

/** Keeps a picture where one is asked for; those beside the first have a name after its. */
async function keepPicture(page, name = "", options = {}) {
  const path = process.env.TRY_SCREENSHOT?.replace(/\.png$/, `${name}.png`);
  if (path) await page.screenshot({ path, ...options });
}

describe("the try page", { concurrency: 3 }, () => {
  test("connects, registers, emits, and shows what matches and nothing else", async (t) => {
    const broker = await Broker.start(t);
    const { page, faults, person } = await openTry(t, broker);
    await person.sees("#state", /^Connected$/);
    assert.equal(new URL(page.url()).hash, "", "no token stays in the address");
    await person.sees("#facts", /u42/);
    await person.click("Register");
    await person.sees("#subscriptions .registration", /^registered$/);
    await person.click("Emit");
    await person.sees("#notifications .data", /"total": 129\.90/);
    await person.sees("#emit-told", /Told to one subscription of this page/);
    await person.click("not matching example: fill in");
    await person.click("Emit");
    await person.sees("#emit-told", /none was told/);
    await page.locator("#event-data").fill(PAID);
    await person.click("Emit");
    await person.sees("#notifications .data", /9007199254740993/);
    await person.sees("#subscriptions .told", /^told 2×$/);
    assert.equal((await person.lines("#notifications li")).length, 2);
    await page.getByText("Frames in and out").click();
    const frames = (await person.lines("#log li")).join("\n");
    assert.match(frames, /subprotocols: carillon\.v1, api\.…, user\.…/);
    for (const token of Object.values(broker.tokens("u42"))) assert.ok(!(await page.content()).includes(token));
    await page.evaluate(() => scrollTo(0, 0));
    await keepPicture(page);
    await person.click("Unregister order-updates, #1");
    await until(async () => (await person.lines("#subscriptions li")).length === 0);
    await person.click("Disconnect");
    await person.sees("#state", /^Not connected$/);
    await until(async () => /close 1000/.test((await person.lines("#log li"))[0]));
    assert.deepEqual(faults, []);
  });

  test("is back by itself when its node is, with everything registered and a gap shown", async (t) => {
    const broker = await Broker.start(t);
    const { page, faults, person } = await openTry(t, broker);
    await person.sees("#state", /^Connected$/);
    await person.click("Register");
    await person.sees("#subscriptions .registration", /^registered$/);
    await broker.stop();
    await person.sees("#state", /^Disconnected, will retry in \d+ s$/);
    await person.sees("#connect-problem", /^1001: The node stops/);
    await person.sees("#subscriptions .registration", /^registering$/);
    await keepPicture(page, "-away");
    await broker.restart();
    await person.sees("#state", /^Connected$/);
    await person.sees("#subscriptions .registration", /^registered$/);
    await person.sees("#notifications .gap .name", /^gap: RECONNECTED$/);
    assert.equal((await person.lines("#connect-problem"))[0], "");
    await person.click("Emit");
    await person.sees("#notifications .data", /"total": 129\.90/);
    // A browser tells of attempts that failed while the node was away.
    assert.deepEqual(faults.filter((fault) => !/WebSocket connection to/.test(fault)), []);
  });

  test("says why tokens are refused, and takes others", async (t) => {
    const broker = await Broker.start(t);
    const { api, user } = broker.tokens("u42");
    const { person } = await openTry(t, broker, { tokens: { api, user: `${user}x` } });
    await person.sees("#connect-problem", /^TOKEN_INVALID: .*\n4401: A token is bad or expired.*\nIt is over/);
    await person.sees("#state", /^Disconnected$/);
    await person.write("User token", "two words");
    await person.click("Connect");
    await person.sees("#connect-problem", /A token has characters that no token has/);
    await person.write("User token", user);
    await person.click("Connect");
    await person.sees("#state", /^Connected$/);
    assert.equal((await person.lines("#connect-problem"))[0], "");
  });

  test("takes new tokens over the same connection before the old ones end", async (t) => {
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

  test("a condition that the node does not take is named, and numbers keep their digits", async (t) => {
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
      await person.sees("#emit-told", number.endsWith("2") ? /none was told/ : /Told to one/);
    }
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`fits a phone, ${colorScheme}`, async (t) => {
      const broker = await Broker.start(t);
      const { page, faults, person } = await openTry(t, broker, { viewport: PHONE, hasTouch: true, isMobile: true, colorScheme });
      await person.sees("#state", /^Connected$/);
      await person.click("Register");
      await person.sees("#subscriptions .registration", /^registered$/);
      await person.click("Emit");
      await person.sees("#notifications .data", /"total": 129\.90/);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no scrolling sideways");
      const small = await page.evaluate(() => [...document.querySelectorAll("button")].filter((button) => button.offsetParent && button.offsetHeight < 32).map(({ id }) => id));
      assert.deepEqual(small, [], "buttons are as high as a finger needs");
      await keepPicture(page, `-phone-${colorScheme}`, { fullPage: true });
      await broker.stop();
      await person.sees("#state", /^Disconnected, will retry in \d+ s$/);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no scrolling sideways");
      assert.deepEqual(faults, []);
    });
  }
});
