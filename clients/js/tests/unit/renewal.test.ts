import { describe, expect, test, vi } from "vitest";
import type { Tokens } from "../../src/index.js";
import { MockNode, settle, setUp, tokensFor, useMockClock } from "./mock_node.js";

useMockClock();

describe("tokens", () => {
  test("are renewed before they expire, on the same connection", async () => {
    const tokens = vi.fn(async () => tokensFor(3600));
    const { node } = setUp({ tokens });
    await vi.advanceTimersByTimeAsync(3_479_000);
    expect(tokens).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(tokens).toHaveBeenCalledTimes(2);
    const [refresh] = node.last.of("REFRESH");
    expect(refresh!.guid).toBeTypeOf("string");
    expect(refresh!.tokens["x-am-user-authorization"]).toBe((await tokens.mock.results[1]!.value).user);
    await vi.advanceTimersByTimeAsync(3_480_000);
    expect(node.last.of("REFRESH").length).toBe(2);
    expect(node.sockets.length).toBe(1);
  });

  test("with a short lifetime are renewed at half of it", async () => {
    const { node } = setUp({ tokens: () => tokensFor(10) });
    await vi.advanceTimersByTimeAsync(4_900);
    expect(node.last.of("REFRESH").length).toBe(0);
    await vi.advanceTimersByTimeAsync(200);
    expect(node.last.of("REFRESH").length).toBe(1);
  });

  test("are renewed in time although the clock of this machine is an hour wrong", async () => {
    for (const hours of [-1, 1]) {
      const tokens = vi.fn(() => {
        const real = Date.now();
        vi.setSystemTime(real - hours * 3_600_000);
        const issued = tokensFor(600);
        vi.setSystemTime(real);
        return issued;
      });
      const { carillon } = setUp({ tokens });
      await vi.advanceTimersByTimeAsync(470_000);
      expect(tokens).toHaveBeenCalledTimes(1);
      await vi.advanceTimersByTimeAsync(20_000);
      expect(tokens).toHaveBeenCalledTimes(2);
      await carillon.close();
    }
  });

  test("that are not renewed are fetched with growing waits, and each failure is reported", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.999999);
    const issued = tokensFor(3600);
    const tokens = vi.fn(async (): Promise<Tokens> => issued);
    const { node, carillon } = setUp({ tokens });
    const problems: string[] = [];
    carillon.on("problem", ({ code }) => problems.push(code));
    await vi.advanceTimersByTimeAsync(3_481_000);
    expect(problems).toEqual(["TOKENS_NOT_RENEWED"]);
    tokens.mockRejectedValue(new Error("away"));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(problems).toEqual(["TOKENS_NOT_RENEWED", "TOKENS_FAILED", "TOKENS_FAILED", "TOKENS_FAILED"]);
    expect(node.last.of("REFRESH").length).toBe(0);
    tokens.mockImplementation(async () => tokensFor(3600));
    node.refresh = () => ({ errors: [{ code: "PROJECT_MISMATCH", message: "another user" }] });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(problems.at(-1)).toBe("PROJECT_MISMATCH");
    expect(carillon.state.status).toBe("connected");
  });

  test("are fetched again at once after 4401", async () => {
    const { node, tokens } = setUp();
    await vi.advanceTimersByTimeAsync(60_000);
    node.last.end(4401, "token bad or expired");
    await settle();
    expect(tokens).toHaveBeenCalledTimes(2);
    expect(node.sockets.length).toBe(2);
  });

  test("are stored for a reconnect while they are valid", async () => {
    const { node, tokens } = setUp();
    await vi.advanceTimersByTimeAsync(60_000);
    node.last.end(1001);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(node.sockets.length).toBe(2);
    expect(tokens).toHaveBeenCalledTimes(1);
  });

  test("that a node refuses are fetched five times at most, with growing waits", async () => {
    const node = new MockNode();
    node.handshake = "refused";
    const { states, tokens } = setUp({}, node);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(tokens).toHaveBeenCalledTimes(5);
    expect(states.at(-1)).toMatchObject({ willRetry: false, reason: { closeCode: 4401, error: { code: "TOKEN_INVALID" } } });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("that expire at once do not cause an endless loop", async () => {
    const { node, carillon } = setUp();
    for (let index = 0; index < 5; index++) {
      await vi.advanceTimersByTimeAsync(30_000 - 25_000 * Number(carillon.state.status === "connected"));
      if (carillon.state.status === "connected") node.last.end(4401);
    }
    await vi.advanceTimersByTimeAsync(60_000);
    expect(node.sockets.length).toBeLessThanOrEqual(6);
  });

  test("that cannot be fetched are fetched again, with growing waits, and each failure is reported", async () => {
    const tokens = vi.fn(async (): Promise<Tokens> => {
      throw new Error("session over");
    });
    const { node, states } = setUp({ tokens });
    await vi.advanceTimersByTimeAsync(120_000);
    expect(node.sockets.length).toBe(0);
    expect(tokens.mock.calls.length).toBeGreaterThan(4);
    expect(tokens.mock.calls.length).toBeLessThan(30);
    expect(states[0]).toMatchObject({ willRetry: true, reason: { error: { code: "TOKENS_FAILED", message: "tokens() failed: session over" } } });
    tokens.mockImplementation(async () => tokensFor(60));
    await vi.advanceTimersByTimeAsync(30_000);
    expect(states.at(-1)!.status).toBe("connected");
  });

  test("that are null stop the client", async () => {
    const { carillon } = setUp({ tokens: () => null });
    await settle();
    expect(carillon.state).toMatchObject({ willRetry: false, reason: { error: { code: "NO_TOKENS" } } });
  });

  test("that never resolve time out after 30 s", async () => {
    const { carillon } = setUp({ tokens: () => new Promise(() => {}) });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(carillon.state).toMatchObject({ willRetry: true, reason: { error: { code: "TOKENS_FAILED" } } });
  });

  test("that are not JWTs are sent to the node, which refuses them", async () => {
    for (const user of ["x.bnVsbA.x", undefined as never, 7 as never]) {
      const { node, carillon } = setUp({ tokens: () => ({ api: "x.bnVsbA.x", user }) });
      await settle();
      expect(node.last.protocols[2]).toBe(`user.${user}`);
      await carillon.close();
    }
  });
});
