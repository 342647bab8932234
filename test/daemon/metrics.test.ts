import { describe, expect, test } from "vitest";
import { noCounts, type RunOutcome } from "../../src/core/outcome.ts";
import { SERVICE_FAILURES } from "../../src/core/service-failure.ts";
import { Metrics } from "../../src/daemon/metrics.ts";
import type { DaemonState } from "../../src/daemon/state.ts";
import type { RunEvent } from "../../src/ports/observer.ts";
import { aClock } from "../adapters/clock.ts";
import {
  aCurrentRun,
  aDaemonState,
  aLedgerSnapshot,
  aLedgerStatus,
  aRecordedRun,
  aRunSummary,
} from "../builders/daemon-state.ts";
import { samplesIn } from "./exposition.ts";

describe("of the daemon's state", () => {
  test("what isn't known has no sample", async () => {
    expect(await gaugesOf(aDaemonState({ nextRun: null }))).toEqual({
      'groupsync_build_info{version="1.2.3"}': 1,
      groupsync_stale_after_seconds: 900,
      groupsync_standby: 0,
    });
  });

  test("a time is in seconds since 1970, a count as it is", async () => {
    const at = (time: string): Date => new Date(`2026-03-01T${time}Z`);
    const seconds = (time: string): number => at(time).getTime() / 1_000;
    const state = aDaemonState({
      lastGoodSync: at("01:00:00.500"),
      nextRun: at("02:00:00"),
      standby: { since: at("00:00:00"), message: "another instance is at work" },
      current: aCurrentRun({ since: at("01:30:00"), done: 3, total: 10 }),
      ledger: aLedgerSnapshot({
        readAt: at("01:10:00"),
        status: aLedgerStatus({
          groups: { total: 50, in_sync: 40, under_way: 1, failing: 2, missing: 3, unverified: 4 },
          oldestToken: at("00:10:00"),
          oldestUnsynced: at("00:20:00"),
          held: { count: 7, code: "4025bf58a4c4", groups: [] },
        }),
      }),
    });
    expect(await gaugesOf(state)).toMatchObject({
      groupsync_last_good_sync_timestamp_seconds: seconds("01:00:00.500"),
      groupsync_next_run_timestamp_seconds: seconds("02:00:00"),
      groupsync_standby: 1,
      groupsync_current_run_start_timestamp_seconds: seconds("01:30:00"),
      groupsync_current_run_done_changes: 3,
      groupsync_current_run_planned_changes: 10,
      groupsync_ledger_read_timestamp_seconds: seconds("01:10:00"),
      groupsync_groups: 50,
      'groupsync_groups_in_state{state="in_sync"}': 40,
      'groupsync_groups_in_state{state="under_way"}': 1,
      'groupsync_groups_in_state{state="failing"}': 2,
      'groupsync_groups_in_state{state="missing"}': 3,
      'groupsync_groups_in_state{state="unverified"}': 4,
      groupsync_oldest_token_timestamp_seconds: seconds("00:10:00"),
      groupsync_oldest_unsynced_timestamp_seconds: seconds("00:20:00"),
      groupsync_held_removals: 7,
    });
  });

  test("what has come to its end is gone, and what is fine is 0", async () => {
    let state = aDaemonState({
      current: aCurrentRun(),
      skippedTicks: 2,
      ledger: aLedgerSnapshot({
        status: aLedgerStatus({
          oldestUnsynced: new Date(),
          held: { count: 7, code: "4025bf58a4c4", groups: [] },
        }),
      }),
    });
    const metrics = new Metrics(() => state, aClock());
    const before = await samplesOf(metrics);
    expect(before).toMatchObject({ groupsync_skipped_ticks_total: 2, groupsync_held_removals: 7 });

    state = aDaemonState({ skippedTicks: 3, ledger: aLedgerSnapshot() });
    const after = await samplesOf(metrics);
    expect(after).toMatchObject({ groupsync_skipped_ticks_total: 3, groupsync_held_removals: 0 });
    expect(after).not.toHaveProperty("groupsync_oldest_unsynced_timestamp_seconds");
    expect(after).not.toHaveProperty("groupsync_current_run_start_timestamp_seconds");
  });

  test("rejected rows are those of the last sync that saw them all", async () => {
    const run = (command: string, outcome: RunOutcome, rejected: number) =>
      aRecordedRun({
        command,
        result: { outcome, counts: { ...noCounts(), rejected }, requests: 0, error: null },
      });
    const history = [
      aRecordedRun({ result: null }),
      run("sync", "failed", 0),
      run("rotate", "ok", 0),
      run("sync", "partial", 5),
      run("sync", "partial", 6),
    ];
    const gauges = await gaugesOf(aDaemonState({ ledger: aLedgerSnapshot({ history }) }));
    expect(gauges).toMatchObject({ groupsync_rejected_rows: 5 });
  });
});

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
      { kind: "finished", ...failed("LEASE_HELD") },
    );
    expect(samples).toMatchObject({
      'groupsync_runs_total{outcome="failed"}': 0,
      'groupsync_runs_total{outcome="interrupted"}': 1,
      'groupsync_run_duration_seconds_count{outcome="failed"}': 0,
    });
  });

  test("changes count as they are recorded", async () => {
    const user_group_id = "acme";
    const failure = { code: "TIMEOUT", message: "no answer", user_group_id };
    const samples = await samplesAfter(
      { kind: "recorded", user_group_id, result: "created", unverified: false, token: "t" },
      { kind: "rotated", user_group_id, token: "t", formerToken: null },
      { kind: "deleted", user_group_id, absence: "absent" },
      { kind: "retry", ...failure, attempt: 2, waitMs: 500 },
      { kind: "failed", ...failure },
      { kind: "unstored", ...failure, hint: undefined, waitMs: 500 },
    );
    expect(samples).toMatchObject({
      'groupsync_changes_total{change="created"}': 1,
      'groupsync_changes_total{change="rotated"}': 1,
      'groupsync_changes_total{change="deleted"}': 1,
      'groupsync_changes_total{change="adopted"}': 0,
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

describe("of requests", () => {
  test("they count by operation and result, and their time by operation", async () => {
    const metrics = new Metrics(aDaemonState, aClock());
    metrics.observeCall({ operation: "get", result: "ok", seconds: 0.02 });
    metrics.observeCall({ operation: "get", result: "throttled", seconds: 0.003 });
    expect(await samplesOf(metrics)).toMatchObject({
      'groupsync_requests_total{operation="get",result="ok"}': 1,
      'groupsync_requests_total{operation="get",result="throttled"}': 1,
      'groupsync_request_duration_seconds_bucket{le="0.005",operation="get"}': 1,
      'groupsync_request_duration_seconds_bucket{le="0.025",operation="get"}': 2,
      'groupsync_request_duration_seconds_count{operation="post"}': 0,
    });
  });

  test("every way to end is there from the start, with 0", async () => {
    const samples = await samplesOf(new Metrics(aDaemonState, aClock()));
    for (const operation of ["get", "post", "delete"]) {
      for (const result of ["ok", ...Object.keys(SERVICE_FAILURES).map((code) => code.toLowerCase())]) {
        expect(samples).toHaveProperty(
          [`groupsync_requests_total{operation="${operation}",result="${result}"}`],
          0,
        );
      }
    }
  });
});

test("two daemons in a process keep their metrics apart", async () => {
  const one = new Metrics(aDaemonState, aClock());
  const other = new Metrics(aDaemonState, aClock());
  one.observe({ kind: "finished", ...aRunSummary() });
  expect(await samplesOf(other)).toMatchObject({ 'groupsync_runs_total{outcome="ok"}': 0 });
});

const failed = (code: string) =>
  aRunSummary({ outcome: "failed", error: { code, message: "it did not reach its end" } });

const samplesOf = async (metrics: Metrics) => samplesIn(await metrics.text());

async function samplesAfter(...events: RunEvent[]) {
  const metrics = new Metrics(aDaemonState, aClock());
  for (const event of events) metrics.observe(event);
  return await samplesOf(metrics);
}

/** groupsync's own gauges. */
async function gaugesOf(state: DaemonState) {
  const samples = Object.entries(await samplesOf(new Metrics(() => state, aClock())));
  return Object.fromEntries(
    samples.filter(([name]) => /^groupsync_(?!.*(_total|_bucket|_sum|_count)\b)/.test(name)),
  );
}
