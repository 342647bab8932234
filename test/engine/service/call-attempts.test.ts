import { describe, expect, it } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";
import { call, type Reply } from "./a-call.ts";

describe("a deferred call", () => {
  it("does not use up an attempt while all calls are deferred", async () => {
    const throttled = Array.from({ length: 3 }, (): Reply => "THROTTLED");
    const { result, requests } = await call([
      ...throttled,
      "TIMEOUT",
      "TIMEOUT",
      "TIMEOUT",
      "TIMEOUT",
      "answer",
    ]);
    expect(result.kind).toBe("answered");
    expect(requests).toBe(8);
  });

  it("waits exactly as long as the service asks", async () => {
    const busy = new ServiceFailure("THROTTLED", "HTTP 429", { retryAfterMs: 42_000 });
    const { elapsed } = await call([busy, "answer"]);
    expect(elapsed).toBe(42_020);
  });

  it.each([undefined, 0, 5_000])(
    "that goes on for more than ten minutes is a failure (Retry-After: %s)",
    async (retryAfterMs) => {
      const busy = new ServiceFailure(
        "THROTTLED",
        "HTTP 429",
        retryAfterMs === undefined ? {} : { retryAfterMs },
      );
      const { result, requests, elapsed } = await call([busy]);
      expect(result).toMatchObject({ kind: "failed", failure: { code: "THROTTLED" } });
      expect(elapsed).toBeGreaterThan(10 * 60_000);
      expect(elapsed).toBeLessThan(12 * 60_000);
      expect(requests).toBeLessThan(150);
    },
  );
});

describe("a 503 that names no Retry-After", () => {
  it("is a failure like any other, until six in a row count as a limit", async () => {
    const overloaded = Array.from({ length: 6 }, (): Reply => "OVERLOADED");
    const { events, result } = await call([...overloaded, "answer"]);
    expect(result.kind).toBe("answered");
    expect(events.map(({ kind }) => kind)).toEqual([...Array.from({ length: 5 }, () => "retry"), "waiting"]);
  });

  it("counts as a limit at once if it names a Retry-After or the run's retries are used up", async () => {
    const busy = new ServiceFailure("OVERLOADED", "HTTP 503", { retryAfterMs: 1_000 });
    expect((await call([busy, "answer"])).events).toMatchObject([{ kind: "waiting", ms: 1_000 }]);
    const { events, result } = await call(["OVERLOADED", "answer"], { isBudgetSpent: true });
    expect(result.kind).toBe("answered");
    expect(events).toMatchObject([{ kind: "warning" }, { kind: "waiting" }]);
  });
});

describe("a call that is deferred again and again", () => {
  it.each<[ServiceFailureCode, boolean, number]>([
    ["THROTTLED", true, 9],
    ["OVERLOADED", true, 8],
    ["OVERLOADED", false, 8],
  ])("with %s, while others pass: %s, is made %i times", async (code, othersPass, times) => {
    const { result, requests } = await call([code], { othersPass });
    expect(result).toMatchObject({ kind: "failed", failure: { code } });
    expect(requests).toBe(times);
  });
});
