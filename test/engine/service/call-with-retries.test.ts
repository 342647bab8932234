import { describe, expect, it } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";
import { call, type Reply } from "./a-call.ts";

describe("a call that", () => {
  it("is answered is made once", async () => {
    const { result, requests, elapsed } = await call(["answer"]);
    expect(result).toEqual({ kind: "answered", answer: "answer", mayHaveBeenSent: false });
    expect([requests, elapsed]).toEqual([1, 10]);
  });

  it.each<[ServiceFailureCode, number, boolean]>([
    ["TIMEOUT", 8, true],
    ["CONNECTION_LOST", 8, true],
    ["SERVICE_ERROR", 8, true],
    ["UNREACHABLE", 8, false],
    ["REFUSED", 1, false],
    ["BAD_RESPONSE", 1, true],
    ["KEY_REFUSED", 1, false],
    ["INTERMEDIARY_REFUSED", 1, true],
  ])("fails with %s is made %i times; may have happened: %s", async (code, times, mayHaveHappened) => {
    const { result, requests } = await call([code]);
    expect(result).toMatchObject({ kind: "failed", failure: { code }, mayHaveHappened });
    expect(requests).toBe(times);
  });

  it("takes long to fail is attempted for a minute, not counting the wait for its turn", async () => {
    const { requests } = await call(["TIMEOUT"], { callMs: 15_000 });
    expect(requests).toBe(4);
  });

  it("is repeated reports each repetition and the wait before it", async () => {
    const { events, elapsed } = await call(["TIMEOUT", "SERVICE_ERROR", "answer"]);
    const retries = events.flatMap((event) => (event.kind === "retry" ? [event] : []));
    expect(retries).toMatchObject([
      { user_group_id: "acme", code: "TIMEOUT", attempt: 2 },
      { user_group_id: "acme", code: "SERVICE_ERROR", attempt: 3 },
    ]);
    expect(elapsed).toBeCloseTo(30 + retries.reduce((sum, { waitMs }) => sum + waitMs, 0), 6);
  });

  it.each<[Reply[], boolean]>([
    [["UNREACHABLE", "answer"], false],
    [["THROTTLED", "answer"], false],
    [["OVERLOADED", "answer"], true],
    [["TIMEOUT", "answer"], true],
    [["CONNECTION_LOST", "UNREACHABLE", "answer"], true],
  ])("is answered after %j; may have been sent before: %s", async (replies, mayHaveBeenSent) => {
    expect((await call(replies)).result).toMatchObject({ kind: "answered", mayHaveBeenSent });
  });

  it("may have had its effect keeps that, however the later attempts end", async () => {
    const { result } = await call(["TIMEOUT", "REFUSED"]);
    expect(result).toMatchObject({ kind: "failed", failure: { code: "REFUSED" }, mayHaveHappened: true });
  });
});

describe("if nothing was answered, and a call has failed", () => {
  const hasFailedBefore = true;

  it("a call is attempted once", async () => {
    expect((await call(["SERVICE_ERROR"], { hasFailedBefore })).requests).toBe(1);
  });

  it("a deferred call still waits for its turn, and a follow-up is still repeated", async () => {
    expect((await call(["THROTTLED", "answer"], { hasFailedBefore })).result.kind).toBe("answered");
    expect((await call(["SERVICE_ERROR"], { hasFailedBefore, isFollowUp: true })).requests).toBe(8);
  });
});

describe("a deferred call", () => {
  it("does not use up an attempt while all calls are deferred", async () => {
    const throttled = Array.from({ length: 3 }, (): Reply => "THROTTLED");
    const timeouts = Array.from({ length: 4 }, (): Reply => "TIMEOUT");
    const { result, requests } = await call([...throttled, ...timeouts, "answer"]);
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
      const options = retryAfterMs === undefined ? {} : { retryAfterMs };
      const busy = new ServiceFailure("THROTTLED", "HTTP 429", options);
      const { result, requests, elapsed } = await call([busy]);
      expect(result).toMatchObject({ kind: "failed", failure: { code: "THROTTLED" } });
      expect(elapsed).toBeGreaterThan(10 * 60_000);
      expect(elapsed).toBeLessThan(12 * 60_000);
      expect(requests).toBeLessThan(150);
    },
  );

  it.each([10_000, undefined])(
    "makes no other call wait once others have passed between, even if none passes later (Retry-After: %s)",
    async (retryAfterMs) => {
      const busy = new ServiceFailure("THROTTLED", "HTTP 429", retryAfterMs ? { retryAfterMs } : {});
      const { events, requests } = await call([busy], { othersPass: 2 });
      // The first refusal may concern everybody.
      expect(events.filter(({ kind }) => kind === "waiting")).toHaveLength(retryAfterMs ? 1 : 0);
      expect(requests).toBeLessThan(40);
    },
  );

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

describe("no further attempt starts", () => {
  it.each<[Reply, boolean, boolean]>([
    ["TIMEOUT", false, true],
    ["UNREACHABLE", false, false],
    ["THROTTLED", false, false],
    ["TIMEOUT", true, true],
    ["UNREACHABLE", true, false],
    ["THROTTLED", true, false],
    ["OVERLOADED", false, true],
  ])(
    "after %s once the run is told to stop, be it of a follow-up: %s",
    async (reply, isFollowUp, mayHaveHappened) => {
      const { result, requests, elapsed } = await call([reply], { stopAt: 1, isFollowUp });
      expect(result).toEqual({ kind: "interrupted", mayHaveHappened });
      expect([requests, elapsed]).toEqual([1, 10]);
    },
  );

  it("once the lease is lost", async () => {
    await expect(call(["TIMEOUT"], { loseLeaseAt: 2 })).rejects.toMatchObject({ code: "LEASE_LOST" });
  });
});

describe("a call that must not be repeated", () => {
  const isUnrepeatable = true;

  it.each<ServiceFailureCode>(["TIMEOUT", "CONNECTION_LOST", "SERVICE_ERROR", "OVERLOADED"])(
    "is made once where it may have had its effect: %s",
    async (code) => {
      const { result, requests } = await call([code, "answer"], { isUnrepeatable });
      expect(result).toMatchObject({ kind: "failed", failure: { code }, mayHaveHappened: true });
      expect(requests).toBe(1);
    },
  );

  it("is repeated if it never reached the service or was deferred", async () => {
    const { result, requests } = await call(["UNREACHABLE", "THROTTLED", "answer"], { isUnrepeatable });
    expect(result).toEqual({ kind: "answered", answer: "answer", mayHaveBeenSent: false });
    expect(requests).toBe(3);
  });

  it("ends with the first attempt that may have had its effect", async () => {
    const { result, requests } = await call(["UNREACHABLE", "THROTTLED", "TIMEOUT", "answer"], {
      isUnrepeatable,
    });
    expect(result).toMatchObject({ kind: "failed", failure: { code: "TIMEOUT" }, mayHaveHappened: true });
    expect(requests).toBe(3);
  });

  it("is attempted eight times at most if it never reaches the service", async () => {
    const { result, requests } = await call(["UNREACHABLE"], { isUnrepeatable });
    expect(result).toMatchObject({ kind: "failed", mayHaveHappened: false });
    expect(requests).toBe(8);
  });
});

describe("once the run is told to stop", () => {
  it("a call is not made", async () => {
    const { result, requests } = await call(["answer"], { stopAt: 0 });
    expect(result).toEqual({ kind: "interrupted", mayHaveHappened: false });
    expect(requests).toBe(0);
  });

  it("a follow-up is still made", async () => {
    const { result, requests } = await call(["answer"], { stopAt: 0, isFollowUp: true });
    expect(result).toMatchObject({ kind: "answered" });
    expect(requests).toBe(1);
  });
});
