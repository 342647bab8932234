import { describe, expect, it } from "vitest";
import { SyncError } from "../../src/core/errors.ts";
import { ServiceFailure, type ServiceFailureCode } from "../../src/core/service-failure.ts";
import { Breaker } from "../../src/engine/breaker.ts";
import { type CallContext, type CallResult, callRepeatedly } from "../../src/engine/call.ts";
import { Retries } from "../../src/engine/retries.ts";
import { Throttle } from "../../src/engine/throttle.ts";
import type { RunEvent } from "../../src/ports/observer.ts";
import { VirtualClock, VirtualTime } from "../fakes/virtual-time.ts";

type Reply = ServiceFailureCode | "answer" | ServiceFailure;

interface Called {
  readonly result: CallResult<string>;
  readonly requests: number;
  readonly elapsed: number;
  readonly events: readonly RunEvent[];
}

interface CallOptions extends Pick<CallContext, "isFollowUp" | "isUnrepeatable"> {
  /** The request in which the run is told to stop; 0: before the first. */
  readonly stopAt?: number;
  readonly loseLeaseAt?: number;
  /** Other calls have used up what the run may repeat. */
  readonly isBudgetSpent?: boolean;
  /** Another call is answered before each of its attempts. */
  readonly othersPass?: boolean;
  /** How long one takes. */
  readonly callMs?: number;
}

/** Calls a service that gives these replies in order, the last of them again and again. */
async function call(
  replies: readonly Reply[],
  {
    stopAt,
    loseLeaseAt,
    isBudgetSpent = false,
    othersPass = false,
    callMs = 10,
    ...context
  }: CallOptions = {},
): Promise<Called> {
  const time = new VirtualTime();
  const clock = new VirtualClock(time);
  const events: RunEvent[] = [];
  const observe = (event: RunEvent): void => void events.push(event);
  const stopping = new AbortController();
  const lost = new AbortController();
  let requests = 0;
  let received = 0;
  if (stopAt === 0) stopping.abort();
  const retries = new Retries(1, observe);
  if (isBudgetSpent) retries.answered();
  while (isBudgetSpent && retries.mayRetry());
  const breaker = new Breaker(true);
  const result = await callRepeatedly(
    "acme",
    async () => {
      if (othersPass) breaker.succeeded();
      const reply = replies[Math.min(received++, replies.length - 1)];
      if (received === stopAt) stopping.abort();
      if (received === loseLeaseAt) lost.abort();
      await time.sleep(callMs);
      if (reply === "answer" || reply === undefined) return "answer";
      throw reply instanceof ServiceFailure ? reply : new ServiceFailure(reply, reply);
    },
    {
      ...context,
      clock,
      observe,
      signal: stopping.signal,
      throttle: new Throttle(clock, observe, { concurrency: 1 }),
      retries,
      breaker,
      lease: {
        epoch: "1",
        lost: lost.signal,
        assertHeld: () => {
          if (lost.signal.aborted) throw new SyncError("LEASE_LOST", "lost");
        },
        awaitAlways: (task) => task,
      },
      countRequest: () => {
        requests++;
      },
    },
  );
  expect(requests).toBe(received);
  return { result, requests, elapsed: time.elapsed, events };
}

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

  it("takes long to fail is tried for a minute, whatever it waits for a slot", async () => {
    const { requests } = await call(["TIMEOUT"], { callMs: 15_000 });
    expect(requests).toBe(4);
  });

  it("is repeated says so each time, and how long it waits", async () => {
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

  it("may have happened once may have happened, however the later attempts end", async () => {
    const { result } = await call(["TIMEOUT", "REFUSED"]);
    expect(result).toMatchObject({ kind: "failed", failure: { code: "REFUSED" }, mayHaveHappened: true });
  });
});

describe("a refusal for now", () => {
  it("is no attempt where all wait", async () => {
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

  it("is waited out for just as long as the service asks", async () => {
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
  it("is a failure like any other the first time, and asks for patience the second time", async () => {
    const { events, result } = await call(["OVERLOADED", "OVERLOADED", "answer"]);
    expect(result.kind).toBe("answered");
    expect(events.map(({ kind }) => kind)).toEqual(["retry", "waiting"]);
  });

  it("asks for patience at once where it names one, or the run may repeat no more", async () => {
    const busy = new ServiceFailure("OVERLOADED", "HTTP 503", { retryAfterMs: 1_000 });
    expect((await call([busy, "answer"])).events).toMatchObject([{ kind: "waiting", ms: 1_000 }]);
    const { events, result } = await call(["OVERLOADED", "answer"], { isBudgetSpent: true });
    expect(result.kind).toBe("answered");
    expect(events).toMatchObject([{ kind: "warning" }, { kind: "waiting" }]);
  });
});

describe("a call that is put off again and again", () => {
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

describe("where the run may repeat no more", () => {
  const isBudgetSpent = true;

  it("a call is made once", async () => {
    const { result, requests } = await call(["SERVICE_ERROR"], { isBudgetSpent });
    expect(result).toMatchObject({ kind: "failed", failure: { code: "SERVICE_ERROR" } });
    expect(requests).toBe(1);
  });

  it("a refusal for now is waited out all the same", async () => {
    const { result } = await call(["THROTTLED", "answer"], { isBudgetSpent });
    expect(result.kind).toBe("answered");
  });

  it("one that follows up on another is repeated all the same", async () => {
    const { requests } = await call(["SERVICE_ERROR"], { isBudgetSpent, isFollowUp: true });
    expect(requests).toBe(8);
  });

  it("the run says so, once", async () => {
    const { events } = await call(["SERVICE_ERROR"], { isBudgetSpent });
    expect(events).toMatchObject([{ kind: "warning", code: "RETRIES_EXHAUSTED" }]);
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

  it("is made again where it never reached the service, or was refused for now", async () => {
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

  it("is tried eight times at most where it never reaches the service", async () => {
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

  it("one that follows up on another is made all the same", async () => {
    const { result, requests } = await call(["answer"], { stopAt: 0, isFollowUp: true });
    expect(result).toMatchObject({ kind: "answered" });
    expect(requests).toBe(1);
  });
});
