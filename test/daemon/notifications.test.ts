import { describe, expect, test } from "vitest";
import { NOBODY_MISSING } from "../../src/core/deletion/missing-tenants.ts";
import type { RejectionReason } from "../../src/core/group/rejections.ts";
import { noCounts } from "../../src/core/report/counts.ts";
import { messageText, Notifications } from "../../src/daemon/notifications.ts";
import { PROBLEM_KINDS, type ProblemCounts, updateProblems } from "../../src/daemon/problems.ts";
import type { RunSummary } from "../../src/ports/observer.ts";
import { aDaemonState, aLedgerSnapshot, aRecordedRun, aRunSummary } from "../builders/daemon-state.ts";

const NOON = new Date("2026-03-01T12:00:00Z");
const LATER = new Date("2026-03-01T12:05:00Z");

/** What people are told when this is found after that. */
function textOf(
  before: ProblemCounts,
  after: ProblemCounts,
  run: RunSummary = aRunSummary(),
  reasons: readonly RejectionReason[] = [],
): string {
  const { problems } = updateProblems({}, before, NOON);
  const judged = updateProblems(problems, after, LATER);
  if (judged.news === null) return "";
  return messageText("eu", judged.news, judged.problems, { run, reasons });
}

const failed = aRunSummary({
  outcome: "failed",
  counts: noCounts(),
  error: {
    code: "SOURCE_UNAVAILABLE",
    message: 'invalid input syntax: "Acme"',
    hint: 'GRANT SELECT ON "Acme" TO "reader"',
  },
});
const held = aRunSummary({
  error: { code: "DELETIONS_HELD", message: "", hint: "groupsync sync --approve-deletions 5-c1" },
});
const OUTAGE = "the log and the status page say why, and what to do";
const SUMMARY = "sync ok: 1 unchanged; 0 requests in 1.0 s";

test.each<[string, string]>([
  [
    textOf({}, { service: 1 }, failed),
    `groupsync eu: the service fails\nsync failed: SOURCE_UNAVAILABLE (0 requests in 1.0 s)\n${OUTAGE}`,
  ],
  [
    textOf({}, { held: 5 }, held),
    "groupsync eu: 5 removals are held\nsync ok: DELETIONS_HELD (1 unchanged; 0 requests in 1.0 s)\ngroupsync sync --approve-deletions 5-c1",
  ],
  [
    textOf({}, { failing: 2, rejected: 1 }),
    `groupsync eu: 2 groups fail; 1 row is rejected\n${SUMMARY}\ngroupsync status names the groups that fail\ngroupsync status names the rows that are rejected`,
  ],
  [
    textOf({ source: 1 }, { source: 0 }),
    `groupsync eu: recovered: the source works again (after 5 min 0 s)\n${SUMMARY}`,
  ],
  [
    textOf({ service: 1, rejected: 1 }, { service: 0, rejected: 2 }),
    `groupsync eu: the service works again (after 5 min 0 s)\n${SUMMARY}\nstill: 2 rows are rejected, since 2026-03-01T12:00:00.000Z`,
  ],
  [
    textOf({ source: 1, held: 5 }, { source: 0, service: 1 }, failed),
    `groupsync eu: the service fails; the source works again (after 5 min 0 s)\nsync failed: SOURCE_UNAVAILABLE (0 requests in 1.0 s)\n${OUTAGE}\nstill: 5 removals are held, since 2026-03-01T12:00:00.000Z`,
  ],
])("what people are told (%#)", (text, expected) => {
  expect(text).toBe(expected);
});

describe("why rows are rejected", () => {
  const aReason = (code: RejectionReason["code"], rows: number, message: string): RejectionReason => ({
    ...{ code, message, rows, since: NOON, ids: ["cus-1"] },
  });
  const reasons = [
    aReason("VALUE_NULL", 40, "a is null"),
    aReason("VALUE_UNUSABLE", 3, "column b holds Acme"),
    aReason("VALUE_NULL", 1, "c is null"),
  ];

  test("is told by the codes of the rows that are rejected now, without ids and values", () => {
    expect(textOf({}, { rejected: 44 }, aRunSummary(), reasons)).toBe(
      `groupsync eu: 44 rows are rejected\n${SUMMARY}\n41 rows: VALUE_NULL\n3 rows: VALUE_UNUSABLE\ngroupsync status names the rows that are rejected`,
    );
  });

  test("isn't told again if the rows were told before", () => {
    expect(textOf({ rejected: 44 }, { rejected: 44, failing: 1 }, aRunSummary(), reasons)).not.toContain(
      "VALUE_NULL",
    );
  });
});

test("a reminder names what lasts, since when, and what to do", () => {
  const { problems } = updateProblems({}, { held: 5, rejected: 1 }, NOON);
  const tomorrow = updateProblems(problems, {}, new Date(NOON.getTime() + 25 * 3_600_000));
  if (tomorrow.news === null) throw new Error("no reminder is due");
  expect(messageText("eu", tomorrow.news, tomorrow.problems, { run: held, reasons: [] })).toBe(
    "groupsync eu: still: 5 removals are held, since 2026-03-01T12:00:00.000Z; 1 row is rejected, since 2026-03-01T12:00:00.000Z\nsync ok: DELETIONS_HELD (1 unchanged; 0 requests in 1.0 s)\ngroupsync sync --approve-deletions 5-c1\ngroupsync status names the rows that are rejected",
  );
});

test.each(PROBLEM_KINDS)("%s has words for its beginning and its end", (kind) => {
  expect(textOf({}, { [kind]: 1 })).toMatch(/^groupsync eu: .+\nsync ok: /);
  expect(textOf({ [kind]: 1 }, { [kind]: 0 })).toMatch(
    /^groupsync eu: recovered: .+ \(after 5 min 0 s\)\nsync ok: /,
  );
});

const rejecting = {
  outcome: "partial",
  counts: { ...noCounts(), rejected: 1 },
  requests: 0,
  error: null,
} as const;
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
  const notifications = new Notifications();
  const outage = aRecordedRun({ id: "2", result: { ...failed, error: failed.error } });
  notifications.recall([outage, aRecordedRun({ id: "1", result: rejecting })], manyMissing, NOON);
  notifications.announce("eu", failed, manyMissing, notifier, NOON);
  notifications.announce("eu", aRunSummary(rejecting), null, notifier, NOON);
  return Promise.resolve().then(() => {
    expect(heard).toEqual([expect.stringMatching(/^groupsync eu: the source works again \(after /)]);
  });
});

test("a restart repeats no reminder", async () => {
  const { heard, notifier } = aSlowReceiver();
  const hours = (count: number): Date => new Date(NOON.getTime() + count * 3_600_000);
  const runAt = (count: number) =>
    aRecordedRun({ id: String(count), finishedAt: hours(count), result: rejecting });
  const notifications = new Notifications();
  notifications.recall([runAt(30), runAt(25), runAt(0)], aDaemonState(), hours(31));
  notifications.announce("eu", aRunSummary(rejecting), null, notifier, hours(48));
  notifications.announce("eu", aRunSummary(rejecting), null, notifier, hours(50));
  await Promise.resolve();
  expect(heard).toEqual([`groupsync eu: still: 1 row is rejected, since ${NOON.toISOString()}`]);
});

test("a rejected config is still known after the problems of another instance are taken over", async () => {
  const heard: (string | undefined)[] = [];
  const notifier = {
    tell: async (message: string): Promise<void> => void heard.push(message.split("\n").at(-1)),
    beat: async () => {},
    unreached: [],
  };
  const notifications = new Notifications();
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
  const notifications = new Notifications();
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
  const notifications = new Notifications();
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
