import { describe, expect, it } from "vitest";
import { askHolder, fromAnswer, toAnswer } from "../../../src/engine/serving/ask-holder.ts";
import type { TenantAnswer } from "../../../src/ports/ledger/lease.ts";
import type { Served } from "../../../src/ports/serve-tenant.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";

const FOREVER = new AbortController().signal;

/** A ledger whose holder answers after `answersAt` milliseconds. */
function aLedger(answersAt: number, answer: TenantAnswer, hasTablesAt = 0) {
  const time = new VirtualTime();
  const asked: { id: string; ttlMs: number }[] = [];
  const withdrawn: string[] = [];
  const ports = {
    clock: new VirtualClock(time),
    requester: "this",
    ledger: {
      requestTenant: async (id: string, _: string, ttlMs: number) =>
        time.elapsed < hasTablesAt ? "" : `request ${asked.push({ id, ttlMs })}`,
      answerTo: async (id: string) => (id !== "" && time.elapsed >= answersAt ? answer : null),
      withdrawRequest: async (id: string) => void withdrawn.push(id),
    },
  };
  return { time, asked, withdrawn, ask: (waitMs: number) => askHolder("acme", waitMs, ports, FOREVER) };
}

const CREATED = toAnswer({ kind: "done", outcome: "created" });

describe("an instance that asks the holder of the lease", () => {
  it("returns the holder's answer, and takes its request back", async () => {
    const { ask, asked, withdrawn } = aLedger(1_000, CREATED);
    expect(await ask(10_000)).toEqual({ kind: "done", outcome: "created" });
    expect(asked).toMatchObject([{ id: "acme" }]);
    expect(withdrawn).toEqual(["request 1"]);
  });

  it("waits no longer than it was told, and leaves a request that lasts longer", async () => {
    const { ask, asked, withdrawn, time } = aLedger(60_000, CREATED);
    expect(await ask(10_000)).toEqual({ kind: "pending" });
    expect(time.elapsed).toBe(10_000);
    expect(asked[0]?.ttlMs).toBeGreaterThan(10_000);
    expect(withdrawn).toEqual([]);
  });

  it("asks again if the ledger had no tables yet", async () => {
    const { ask, asked } = aLedger(1_000, CREATED, 500);
    expect(await ask(10_000)).toEqual({ kind: "done", outcome: "created" });
    expect(asked).toHaveLength(1);
  });

  it("asks, and waits for nothing, if it need not wait", async () => {
    const { ask, asked, time } = aLedger(0, CREATED);
    expect(await ask(0)).toEqual({ kind: "pending" });
    expect([asked.length, time.elapsed]).toEqual([1, 0]);
  });
});

it.each<Served>([
  { kind: "done", outcome: "created" },
  { kind: "done", outcome: "unchanged" },
  { kind: "unknown" },
  { kind: "conflict", outcome: "rejected", code: "VALUE_NULL", message: "column name is null" },
  { kind: "failed", code: "TIMEOUT", message: "no answer" },
])("$kind gets through the ledger as it is", (served) => {
  expect(fromAnswer(toAnswer(served))).toEqual(served);
});

it("an answer of a newer version that this one doesn't know is a failure with its words", () => {
  expect(fromAnswer({ outcome: "postponed", code: null, message: "until noon" })).toEqual({
    kind: "failed",
    code: "UNKNOWN",
    message: "until noon",
  });
});
