import { expect, test } from "vitest";
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

const manyMissing = aDaemonState({ ledger: aLedgerSnapshot({ wentMissing: 9 }) });

/** Somebody who takes each message only when the test says so. */
function aSlowReceiver() {
  const heard: (string | undefined)[] = [];
  const taken: (() => void)[] = [];
  const tell = (message: string): Promise<void> => {
    heard.push(message.split("\n")[0]);
    return new Promise((resolve) => taken.push(resolve));
  };
  return { heard, taken, notifier: { tell, beat: async () => {} } };
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
