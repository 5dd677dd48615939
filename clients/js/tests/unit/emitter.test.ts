import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { EmitError, Emitter, type EmitterOptions } from "../../src/emitter.js";
import { jwt } from "./mock_node.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

type Reply = { status: number; body: unknown; headers?: Record<string, string> } | Error;

const TAKEN: Reply = { status: 200, body: { success: true, statusCode: 200, data: { id: "e1" } } };

function refusal(status: number, code: string, headers = {}): Reply {
  return { status, body: { success: false, statusCode: status, errors: [{ code, message: code }] }, headers };
}

/** An emitter whose calls get the answers in order; the last answer repeats. */
function setUp(replies: Reply[], options: Partial<EmitterOptions> = {}) {
  const calls: { url: string; headers: Record<string, string>; body: any; at: number }[] = [];
  const fetch = async (url: string, { headers, body }: any) => {
    calls.push({ url, headers, body: JSON.parse(body), at: Date.now() });
    const reply = replies.length > 1 ? replies.shift()! : replies[0]!;
    if (reply instanceof Error) throw reply;
    const text = typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body);
    return new Response(text, { status: reply.status, headers: reply.headers ?? {} });
  };
  const token = jwt(60, { project: "demo" });
  return { calls, token, emitter: new Emitter("https://ws.example.com/", { token, fetch: fetch as never, ...options }) };
}

/** Waits for a promise while the mock clock advances. */
async function finish<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  await vi.advanceTimersByTimeAsync(300_000);
  return promise;
}

describe("emit", () => {
  test("posts to the token's project, with a random idempotency key", async () => {
    const { emitter, calls, token } = setUp([TAKEN]);
    expect(await emitter.emit("orders", { n: 1 })).toEqual({ id: "e1", duplicate: false });
    expect(calls[0]).toMatchObject({
      url: "https://ws.example.com/api/system-api/demo/emit-event-ws",
      headers: { "content-type": "application/json", "x-am-authorization": token },
      body: { name: "orders", eventData: { n: 1 }, idempotencyKey: expect.any(String) },
    });
  });

  test("takes project, key and a token function from the options", async () => {
    const token = vi.fn(async () => "opaque");
    const { emitter, calls } = setUp([refusal(503, "BUS_UNAVAILABLE"), { status: 200, body: { ...(TAKEN as any).body, duplicate: true } }], {
      token,
      project: "a b",
    });
    expect(await finish(emitter.emit("orders", null, { idempotencyKey: "k" }))).toEqual({ id: "e1", duplicate: true });
    expect(calls.map(({ body }) => body.idempotencyKey)).toEqual(["k", "k"]);
    expect(calls[0]!.url).toContain("/a%20b/");
    expect(token).toHaveBeenCalledTimes(2);
  });

  test.each<[string, Reply]>([
    ["429", refusal(429, "RATE_LIMITED")],
    ["503", refusal(503, "BUS_UNAVAILABLE")],
    ["504, whose outcome is unknown,", refusal(504, "OUTCOME_UNKNOWN")],
    ["no answer", new TypeError("fetch failed")],
    ["an answer that is not JSON", { status: 502, body: undefined }],
  ])("%s is tried again with the same key", async (_, reply) => {
    const { emitter, calls } = setUp([reply, reply, TAKEN]);
    expect((await finish(emitter.emit("orders", 1))).id).toBe("e1");
    expect(calls.length).toBe(3);
    expect(new Set(calls.map(({ body }) => body.idempotencyKey)).size).toBe(1);
  });

  test.each([400, 401, 403, 413, 415])("%i is not tried again", async (status) => {
    const { emitter, calls } = setUp([refusal(status, "SOME_CODE")]);
    const error = await finish(emitter.emit("orders", 1)).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(EmitError);
    expect(error).toMatchObject({ code: "SOME_CODE", status });
    expect(calls.length).toBe(1);
  });

  test("a proxy's page counts by its status: 413 is not retried, 503 is retried after its Retry-After", async () => {
    const page = "<html>no</html>";
    const refused = setUp([{ status: 413, body: page }]);
    await expect(finish(refused.emitter.emit("orders", 1))).rejects.toMatchObject({ code: "UNKNOWN", status: 413 });
    expect(refused.calls.length).toBe(1);
    const busy = setUp([{ status: 503, body: page, headers: { "retry-after": "9" } }, TAKEN]);
    await finish(busy.emitter.emit("orders", 1));
    expect(busy.calls[1]!.at - busy.calls[0]!.at).toBe(9_000);
  });

  test("a token function that never resolves ends at the timeout of the attempt, or with the signal", async () => {
    vi.useRealTimers();
    const { emitter, calls } = setUp([TAKEN], { token: () => new Promise(() => {}), timeout: 20 });
    await expect(emitter.emit("orders", 1)).rejects.toMatchObject({ name: "TimeoutError" });
    const { emitter: patient } = setUp([TAKEN], { token: () => new Promise(() => {}) });
    const controller = new AbortController();
    const emitted = patient.emit("orders", 1, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(emitted).rejects.toThrow("enough");
    expect(calls).toEqual([]);
  });

  test("Retry-After is honored", async () => {
    const { emitter, calls } = setUp([refusal(429, "RATE_LIMITED", { "retry-after": "17" }), TAKEN]);
    const { signal } = new AbortController();
    const [add, remove] = [vi.spyOn(signal, "addEventListener"), vi.spyOn(signal, "removeEventListener")];
    await finish(emitter.emit("orders", 1, { signal }));
    expect(calls[1]!.at - calls[0]!.at).toBe(17_000);
    expect(remove.mock.calls.length).toBe(add.mock.calls.length);
  });

  test("a longer wait than the caller allows is an error at once", async () => {
    const { emitter, calls } = setUp([refusal(503, "BUS_UNAVAILABLE", { "retry-after": "3600" })]);
    await expect(finish(emitter.emit("orders", 1))).rejects.toThrow("BUS_UNAVAILABLE");
    expect(calls.length).toBe(1);
  });

  test("retries end", async () => {
    const { emitter, calls } = setUp([new TypeError("fetch failed")], { retries: 2 });
    await expect(finish(emitter.emit("orders", 1))).rejects.toMatchObject({ code: "NO_ANSWER", status: 0 });
    expect(calls.length).toBe(3);
  });

  test("a signal ends the wait between attempts, and its listener is removed", async () => {
    const { emitter, calls } = setUp([refusal(503, "BUS_UNAVAILABLE")]);
    const controller = new AbortController();
    const promise = emitter.emit("orders", 1, { signal: controller.signal });
    const outcome = expect(promise).rejects.toThrow("enough");
    await vi.advanceTimersByTimeAsync(100);
    controller.abort(new Error("enough"));
    await outcome;
    expect(calls.length).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a call that times out is retried", async () => {
    vi.useRealTimers();
    let calls = 0;
    const fetch = (_: string, { signal }: RequestInit) => {
      if (++calls > 1) return Promise.resolve(new Response(JSON.stringify((TAKEN as any).body)));
      return new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
    };
    const emitter = new Emitter("http://x", { token: "t", project: "demo", timeout: 20, fetch: fetch as never });
    expect((await emitter.emit("orders", 1)).id).toBe("e1");
  });

  test("data that is not JSON, and a token without a project, are errors of the caller", async () => {
    const { emitter } = setUp([TAKEN]);
    await expect(emitter.emit("orders", undefined)).rejects.toThrow(TypeError);
    await expect(setUp([TAKEN], { token: "opaque" }).emitter.emit("orders", 1)).rejects.toThrow(TypeError);
  });
});

describe("emitAll", () => {
  test("returns one result per emit, and retries only temporary failures", async () => {
    const taken = (id: string) => ({ success: true, statusCode: 200, data: { id } });
    const failed = (statusCode: number, code: string) => ({ success: false, statusCode, errors: [{ code, message: code }] });
    const { emitter, calls } = setUp([
      { status: 200, body: [taken("a"), failed(400, "EVENT_NAME_INVALID"), failed(503, "BUS_UNAVAILABLE")] },
      { status: 200, body: taken("c") },
    ]);
    const results = await finish(emitter.emitAll([{ name: "a", data: 1 }, { name: "", data: 2 }, { name: "c", data: 3 }]));
    expect(results).toMatchObject([{ id: "a" }, { code: "EVENT_NAME_INVALID" }, { id: "c" }]);
    expect(calls[1]!.body).toEqual({ ...calls[0]!.body[2] });
  });

  test("makes calls of at most 1,000 items and 256 KiB", async () => {
    const { emitter, calls } = setUp([TAKEN]);
    await finish(emitter.emitAll(Array.from({ length: 2500 }, () => ({ name: "a", data: 1 }))));
    await finish(emitter.emitAll(Array.from({ length: 10 }, () => ({ name: "a", data: "ä".repeat(40_000) }))));
    const sizes = calls.map(({ body }) => body.length);
    expect(sizes.slice(0, 3)).toEqual([1000, 1000, 500]);
    for (const { body } of calls) expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThan(262_144);
  });

  test("without emits makes no call", async () => {
    const { emitter, calls } = setUp([TAKEN]);
    expect(await emitter.emitAll([])).toEqual([]);
    expect(calls.length).toBe(0);
  });
});
