import { expect, test } from "vitest";
import { NOBODY_MISSING } from "../../../src/core/deletion/missing-tenants.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import { RunNotifications } from "../../../src/daemon/notifications/run-notifications.ts";
import type { RunSummary } from "../../../src/ports/observer.ts";
import { aDaemonState, aLedgerSnapshot, aRecordedRun, aRunSummary } from "../../builders/daemon-state.ts";

const NOON = new Date("2026-03-01T12:00:00Z");

const rejecting = {
  outcome: "partial",
  counts: { ...noCounts(), rejected: 1 },
  requests: 0,
  error: null,
} as const;
const failed: RunSummary = aRunSummary({
  outcome: "failed",
  counts: noCounts(),
  error: { code: "SOURCE_UNAVAILABLE", message: "cannot read customers" },
});

const manyMissing = aDaemonState({ ledger: aLedgerSnapshot({ missing: { ...NOBODY_MISSING, count: 9 } }) });

/** Somebody who takes each message only when the test says so. */
function aSlowReceiver() {
  const heard: (string | undefined)[] = [];
  const taken: (() => void)[] = [];
  const tell = (message: string): Promise<void> => {
    heard.push(message.split("\n")[0]);
    return new Promise((resolve) => taken.push(resolve));
  };
  return { heard, taken, notifier: { tell, beat: async () => {}, unreached: [] } };
}

test("a problem from the history is not notified again, but its end is", () => {
  const { heard, notifier } = aSlowReceiver();
  const notifications = new RunNotifications();
  const outage = aRecordedRun({ id: "2", result: { ...failed, error: failed.error } });
  notifications.recall([outage, aRecordedRun({ id: "1", result: rejecting })], manyMissing, NOON);
  notifications.announce("eu", failed, manyMissing, notifier, NOON);
  notifications.announce("eu", aRunSummary(rejecting), null, notifier, NOON);
  return Promise.resolve().then(() => {
    expect(heard).toEqual([expect.stringMatching(/^groupsync eu: the source works again \(after /)]);
  });
});

test("a rejected config is still known after the problems of another instance are taken over", async () => {
  const heard: (string | undefined)[] = [];
  const notifier = {
    tell: async (message: string): Promise<void> => void heard.push(message.split("\n").at(-1)),
    beat: async () => {},
    unreached: [],
  };
  const notifications = new RunNotifications();
  notifications.configRead("eu", true, notifier, NOON);
  notifications.recall([], aDaemonState(), NOON);
  notifications.announce("eu", failed, null, notifier, NOON);
  notifications.configRead("eu", false, notifier, NOON);
  await notifications.ended();
  expect(heard).toEqual([
    "the status page and the log say what is wrong with it; a restart would read it",
    `still: the new config was rejected, and the old one stays in force, since ${NOON.toISOString()}`,
    `still: the source fails, since ${NOON.toISOString()}`,
  ]);
});

test("messages go one after the other, in the background", async () => {
  const { heard, taken, notifier } = aSlowReceiver();
  const notifications = new RunNotifications();
  notifications.announce("eu", failed, null, notifier, NOON);
  notifications.announce("eu", aRunSummary(), null, notifier, NOON);
  await Promise.resolve();
  expect(heard).toEqual(["groupsync eu: the source fails"]);
  const ended = notifications.ended();
  taken[0]?.();
  while (heard.length < 2) await Promise.resolve();
  expect(heard[1]).toMatch(/^groupsync eu: recovered: the source works again /);
  taken[1]?.();
  await ended;
});

test("drift is notified once in 24 hours, whichever runs have found it", async () => {
  const heard: (string | undefined)[] = [];
  const notifier = {
    tell: async (message: string): Promise<void> => void heard.push(message.split("\n")[0]),
    beat: async () => {},
    unreached: [],
  };
  const notifications = new RunNotifications();
  const counts = { ...noCounts(), drift: { token: 2, gone: 1, name: 0 } };
  const result = { outcome: "ok", counts, requests: 3, error: null } as const;
  const history = [
    aRecordedRun({ id: "2", finishedAt: NOON }),
    aRecordedRun({ id: "1", finishedAt: NOON, result }),
  ];
  for (const hours of [0, 1, 24, 25]) {
    const readAt = new Date(NOON.getTime() + hours * 3_600_000);
    const state = aDaemonState({ ledger: aLedgerSnapshot({ readAt, history }) });
    notifications.announce("eu", aRunSummary(), state, notifier, readAt);
  }
  await notifications.ended();
  expect(heard).toEqual([
    "groupsync eu: 3 changes by somebody else were found at the service within 24 hours",
    expect.stringMatching(/^groupsync eu: recovered: no change by somebody else .+ \(after 25 h 0 min\)$/),
  ]);
});
