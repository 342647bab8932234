import { describe, expect, test } from "vitest";
import { Metrics } from "../../../src/daemon/metrics/metrics.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";
import type { Served } from "../../../src/ports/serve-tenant.ts";
import { aDaemonState, aRunSummary } from "../../builders/daemon-state.ts";
import { aClock } from "../../fakes/set-clock.ts";
import { samplesIn } from "./exposition.ts";

describe("of runs", () => {
  test("they count by outcome, and their time with them", async () => {
    const samples = await samplesAfter(
      { kind: "finished", ...aRunSummary({ outcome: "ok", durationMs: 2_000 }) },
      { kind: "finished", ...aRunSummary({ outcome: "ok", durationMs: 500 }) },
      { kind: "finished", ...failed("SOURCE_UNAVAILABLE") },
    );
    expect(samples).toMatchObject({
      'groupsync_runs_total{outcome="ok"}': 2,
      'groupsync_run_duration_seconds_sum{outcome="ok"}': 2.5,
      'groupsync_runs_total{outcome="failed"}': 1,
      'groupsync_runs_total{outcome="partial"}': 0,
      'groupsync_runs_total{outcome="held"}': 0,
    });
  });

  test("to stop, or to leave the work to another instance, is no failure", async () => {
    const samples = await samplesAfter(
      { kind: "finished", ...failed("INTERRUPTED") },
      { kind: "finished", ...failed("LEASE_HANDED_OVER") },
      { kind: "finished", ...failed("LEASE_HELD") },
    );
    expect(samples).toMatchObject({
      'groupsync_runs_total{outcome="failed"}': 0,
      'groupsync_runs_total{outcome="interrupted"}': 2,
      'groupsync_run_duration_seconds_count{outcome="failed"}': 0,
    });
  });

  test("changes count as they are recorded", async () => {
    const user_group_id = "acme";
    const failure = { code: "TIMEOUT", message: "no answer", user_group_id };
    const samples = await samplesAfter(
      { kind: "recorded", user_group_id, result: "created", unverified: false, tokenFingerprint: "t" },
      { kind: "rotated", user_group_id, tokenFingerprint: "t", formerTokenFingerprint: null },
      { kind: "deleted", user_group_id, absence: "absent" },
      {
        ...{ kind: "drift", drift: "gone", user_group_id, name: "Acme" },
        ...{ tokenFingerprint: "t", formerTokenFingerprint: null },
      },
      { kind: "retry", ...failure, attempt: 2, waitMs: 500 },
      { kind: "failed", ...failure },
      { kind: "unstored", ...failure, hint: undefined, waitMs: 500 },
    );
    expect(samples).toMatchObject({
      'groupsync_changes_total{change="created"}': 1,
      'groupsync_changes_total{change="rotated"}': 1,
      'groupsync_changes_total{change="deleted"}': 1,
      'groupsync_changes_total{change="adopted"}': 0,
      'groupsync_drift_total{drift="gone"}': 1,
      'groupsync_drift_total{drift="name"}': 0,
      groupsync_request_retries_total: 1,
      groupsync_change_failures_total: 1,
      groupsync_unstored_tokens_total: 1,
    });
  });

  test("waiting counts as it passes, once where two waits overlap, and no longer than the run", async () => {
    const clock = aClock();
    const metrics = new Metrics(aDaemonState, clock);
    const waited = async (): Promise<unknown> => (await samplesOf(metrics)).groupsync_throttle_seconds_total;
    const at = (elapsed: number, event?: RunEvent): void => {
      clock.elapsed = elapsed;
      if (event) metrics.observe(event);
    };
    const waiting = (ms: number): RunEvent => ({
      kind: "waiting",
      ms,
      reason: "the service asked to slow down",
    });
    expect(await waited()).toBe(0);
    at(60_000, waiting(10_000));
    at(64_000);
    expect(await waited()).toBe(4);
    at(65_000, waiting(10_000));
    at(80_000);
    expect(await waited()).toBe(15);
    at(100_000, waiting(600_000));
    at(101_000, { kind: "finished", ...failed("INTERRUPTED") });
    at(200_000);
    expect(await waited()).toBe(16);
  });
});

describe("tenants that are served singly", () => {
  test("count by what became of them, each from the start with 0", async () => {
    const samples = await samplesAfterServing(
      [{ kind: "done", outcome: "created" }, 84],
      [{ kind: "done", outcome: "unchanged" }, 9],
      [{ kind: "unknown" }, 9],
      [{ kind: "conflict", outcome: "held", code: "NEEDS_FULL_SYNC", message: "no" }, 9],
      [{ kind: "failed", code: "TIMEOUT", message: "no" }, 9],
    );
    for (const outcome of ["created", "unchanged", "unknown", "held", "failed"])
      expect(samples).toHaveProperty([`groupsync_served_tenants_total{outcome="${outcome}"}`], 1);
    expect(samples).toHaveProperty(['groupsync_served_tenants_total{outcome="restored"}'], 0);
  });

  test("are measured from the notice to the stored token, if one was to be stored", async () => {
    const samples = await samplesAfterServing(
      [{ kind: "done", outcome: "restored" }, 120],
      [{ kind: "done", outcome: "unchanged" }, 9],
      [{ kind: "pending" }, 9],
      [{ kind: "failed", code: "TIMEOUT", message: "no" }, 9],
    );
    expect(samples).toMatchObject({
      'groupsync_notice_to_token_seconds_bucket{le="0.1"}': 0,
      'groupsync_notice_to_token_seconds_bucket{le="0.15"}': 1,
      groupsync_notice_to_token_seconds_count: 1,
    });
  });
});

const failed = (code: string) =>
  aRunSummary({ outcome: "failed", error: { code, message: "it did not reach its end" } });

const samplesOf = async (metrics: Metrics) => samplesIn(await metrics.text());

async function samplesAfter(...events: RunEvent[]) {
  const metrics = new Metrics(aDaemonState, aClock());
  for (const event of events) metrics.observe(event);
  return await samplesOf(metrics);
}

async function samplesAfterServing(...ends: readonly (readonly [Served, ms: number])[]) {
  const events = ends.map(
    ([served, ms]): RunEvent => ({ kind: "served", user_group_id: "acme", served, ms }),
  );
  return await samplesAfter(...events);
}
