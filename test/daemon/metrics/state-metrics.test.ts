import { describe, expect, test } from "vitest";
import { noCounts, type RunOutcome } from "../../../src/core/report/counts.ts";
import type { DaemonState, FeedState, LedgerStatus } from "../../../src/core/report/scope-facts.ts";
import { Metrics } from "../../../src/daemon/metrics/metrics.ts";
import {
  aBrokenFeed,
  aCurrentRun,
  aDaemonState,
  aLedgerStatus,
  anAliveFeed,
  aRecordedRun,
  aServingState,
  someGroups,
} from "../../builders/daemon-state.ts";
import { aRejection } from "../../builders/groups.ts";
import { aClock } from "../../fakes/set-clock.ts";
import { samplesIn } from "./exposition.ts";

describe("of the daemon's state", () => {
  test("what isn't known has no sample", async () => {
    expect(await gaugesOf(aDaemonState({ nextRun: null }))).toEqual({
      'groupsync_build_info{version="1.2.3"}': 1,
      groupsync_config_last_reload_successful: 1,
      'groupsync_notify_last_send_successful{to="heartbeat"}': 1,
      'groupsync_notify_last_send_successful{to="webhook"}': 1,
      groupsync_stale_at_timestamp_seconds: new Date("2026-03-01T00:15:00Z").getTime() / 1_000,
      groupsync_standby: 0,
    });
  });

  test("a time is in seconds since 1970, a count as it is", async () => {
    const at = (time: string): Date => new Date(`2026-03-01T${time}Z`);
    const seconds = (time: string): number => at(time).getTime() / 1_000;
    const state = aDaemonState({
      lastGoodSync: at("01:00:00.500"),
      lastAnswer: at("01:05:00"),
      nextRun: at("02:00:00"),
      standby: { message: "another instance is at work" },
      unreached: [{ key: "notify.webhook", since: at("00:30:00"), message: "HTTP 500" }],
      rejectedConfig: { since: at("00:30:00"), code: "CONFIG_INVALID", message: "it has 1 problem" },
      current: aCurrentRun({ since: at("01:30:00"), done: 3, total: 10 }),
      ledger: aLedgerStatus({
        missing: { count: 5, due: 9, toBeHeld: 6, owned: 50, allowed: 5 },
        refreshHold: { changed: 6, owned: 50, allowed: 5, approval: "0123456789ab" },
        readAt: at("01:10:00"),
        groups: someGroups({ total: 50, in_sync: 40, under_way: 1, failing: 2, missing: 3, unverified: 4 }),
        oldestToken: at("00:10:00"),
        oldestUnsynced: at("00:20:00"),
        held: { count: 7, code: "4025bf58a4c4", groups: [] },
      }),
    });
    expect(await gaugesOf(state)).toMatchObject({
      groupsync_last_good_sync_timestamp_seconds: seconds("01:00:00.500"),
      groupsync_last_answer_timestamp_seconds: seconds("01:05:00"),
      groupsync_next_run_timestamp_seconds: seconds("02:00:00"),
      groupsync_standby: 1,
      groupsync_config_last_reload_successful: 0,
      'groupsync_notify_last_send_successful{to="heartbeat"}': 1,
      'groupsync_notify_last_send_successful{to="webhook"}': 0,
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
      groupsync_recently_missing_groups: 5,
      groupsync_removals_allowed: 5,
      groupsync_missing_groups_to_be_held: 6,
      groupsync_refresh_held: 1,
    });
  });

  test("what has come to its end is gone, and what is fine is 0", async () => {
    let state = aDaemonState({
      current: aCurrentRun(),
      skippedRuns: 2,
      ledger: aLedgerStatus({
        oldestUnsynced: new Date(),
        held: { count: 7, code: "4025bf58a4c4", groups: [] },
      }),
    });
    const metrics = new Metrics(() => state, aClock());
    const before = await samplesOf(metrics);
    expect(before).toMatchObject({ groupsync_skipped_runs_total: 2, groupsync_held_removals: 7 });

    state = aDaemonState({ skippedRuns: 3, ledger: aLedgerStatus() });
    const after = await samplesOf(metrics);
    expect(after).toMatchObject({ groupsync_skipped_runs_total: 3, groupsync_held_removals: 0 });
    expect(after).not.toHaveProperty("groupsync_oldest_unsynced_timestamp_seconds");
    expect(after).not.toHaveProperty("groupsync_current_run_start_timestamp_seconds");
  });

  test("rejected rows are those that the ledger remembers", async () => {
    const since = [new Date(2_000), new Date(1_000)] as const;
    const rejected = [
      { ...aRejection({ user_group_id: null, code: "ID_NULL", rows: 4 }), since: since[0] },
      { ...aRejection(), since: since[1] },
    ];
    const gaugesWith = (status: Partial<LedgerStatus>) =>
      gaugesOf(aDaemonState({ ledger: aLedgerStatus({ ...status }) }));
    expect(await gaugesWith({ rejected })).toMatchObject({
      groupsync_rejected_rows: 5,
      groupsync_oldest_rejected_row_timestamp_seconds: 1,
    });
    expect(await gaugesWith({})).toMatchObject({ groupsync_rejected_rows: 0 });
    expect(await gaugesWith({})).not.toHaveProperty("groupsync_oldest_rejected_row_timestamp_seconds");
  });

  test("rows that wait are those of the last sync that reached its end", async () => {
    const run = (command: string, outcome: RunOutcome, not_ready: number) =>
      aRecordedRun({
        command,
        result: { outcome, counts: { ...noCounts(), not_ready }, requests: 0, error: null },
      });
    const runs = [
      aRecordedRun({ result: null }),
      run("sync", "failed", 0),
      run("rotate", "ok", 0),
      run("sync", "partial", 5),
      run("sync", "partial", 6),
    ];
    const gauges = await gaugesOf(aDaemonState({ ledger: aLedgerStatus({ runs }) }));
    expect(gauges).toMatchObject({ groupsync_not_ready_rows: 5 });
  });

  test("the clocks differ as the last sync that ended has found", async () => {
    const counts = noCounts();
    const error = { code: "CLOCK_DIFFERS", message: "the clocks differ" };
    const differing = aRecordedRun({ result: { outcome: "partial", counts, requests: 0, error } });
    const runs = [aRecordedRun({ command: "rotate" }), aRecordedRun({ result: null }), differing];
    const found = await gaugesOf(aDaemonState({ ledger: aLedgerStatus({ runs }) }));
    expect(found).toMatchObject({ groupsync_clocks_differ: 1 });
    const agreeing = aLedgerStatus({ runs: [aRecordedRun(), ...runs] });
    expect(await gaugesOf(aDaemonState({ ledger: agreeing }))).toMatchObject({ groupsync_clocks_differ: 0 });
  });
});

describe("of single tenants", () => {
  const of = (state: Partial<DaemonState>) => gaugesOf(aDaemonState(state));
  const feedsWith = (channel: FeedState | null): Partial<DaemonState> => ({
    serving: aServingState({ feeds: { channel } }),
  });

  test("the longest wait has a sample, unless another instance serves them", async () => {
    const serving = aServingState({ oldestMs: 1_500 });
    const standby = { message: "another instance is at work" };
    const name = "groupsync_oldest_unserved_tenant_seconds";
    expect(await of({ serving })).toHaveProperty(name, 1.5);
    expect(await of({ serving, standby })).not.toHaveProperty(name);
    expect(await of({ serving: null })).not.toHaveProperty(name);
  });

  test("a feed of noticing them is up, or it isn't", async () => {
    const up = async (channel: FeedState) =>
      (await of(feedsWith(channel)))['groupsync_noticing_up{feed="channel"}'];
    expect(await up(anAliveFeed())).toBe(1);
    expect(await up(aBrokenFeed())).toBe(0);
  });

  test("a way that the config doesn't name, or that is off, has no sample", async () => {
    const names = Object.keys(await of(feedsWith(null)));
    expect(names.filter((name) => name.startsWith("groupsync_noticing_up"))).toEqual([]);
  });
});

const samplesOf = async (metrics: Metrics) => samplesIn(await metrics.text());

/** groupsync's own gauges. */
async function gaugesOf(state: DaemonState) {
  const samples = Object.entries(await samplesOf(new Metrics(() => state, aClock())));
  return Object.fromEntries(
    samples.filter(([name]) => /^groupsync_(?!.*(_total|_bucket|_sum|_count)\b)/.test(name)),
  );
}
