import { expect, test } from "vitest";
import type { DaemonState } from "../../src/core/report/scope-facts.ts";
import { Notifications } from "../../src/daemon/notifications.ts";
import type { RunSummary } from "../../src/ports/observer.ts";
import { aRunSummary, someGroups } from "../builders/daemon-state.ts";
import { aRejection } from "../builders/groups.ts";
import { aFinishedRun, aHealthyDaemon, aHealthySnapshot, minutesAgo, NOW } from "./a-healthy-daemon.ts";
import { afterSync } from "./status-page/shown-page.ts";

const hoursLater = (count: number): Date => new Date(NOW.getTime() + count * 3_600_000);
const EU = { name: "eu", lastAnswer: hoursLater(100) };
const WELL = aHealthyDaemon(EU);
const error = { code: "SOURCE_UNAVAILABLE", message: 'invalid input: "Acme"', hint: 'GRANT "Acme"' };
const FAILED = aHealthyDaemon({ ...EU, lastRun: aFinishedRun({ error }) });
const failing = (count: number): DaemonState => ({ ...afterSync({}, count), ...EU });
const FAILING_AND_REJECTED: DaemonState = {
  ...afterSync({}, 1, [{ ...aRejection(), since: minutesAgo(3) }]),
  ...EU,
};

const SUMMARY = "sync ok: 1 unchanged; 0 requests in 1.0 s";

/** What people are told by runs that leave these states, an hour apart. */
async function toldAfter(
  states: readonly DaemonState[],
  run: RunSummary | null = aRunSummary(),
  recalled: DaemonState = WELL,
): Promise<string[]> {
  const told: string[] = [];
  const tell = async (text: string): Promise<void> => void told.push(text);
  const notifier = { tell, beat: async () => {}, unreached: [], reachedAt: {} };
  const notifications = new Notifications();
  notifications.recall(recalled, NOW);
  states.forEach((state, hours) => {
    const before = told.length;
    notifications.announce(state, run, notifier, hoursLater(hours));
    expect(told).toHaveLength(before);
  });
  await notifications.ended();
  return told;
}

test("a problem is told when it begins and when it ends, and not in between", async () => {
  const states = [WELL, failing(2), failing(200), failing(1), WELL, WELL, failing(1)];
  const begins = (count: string): string =>
    `groupsync eu: Needs attention: ${count}.\nGroups that fail are tried again by themselves.\n${SUMMARY}`;
  expect(await toldAfter(states)).toEqual([
    begins("2 failing groups"),
    `groupsync eu: recovered. Over: Needs attention: 1 failing group.\n${SUMMARY}`,
    begins("1 failing group"),
  ]);
});

test.each(["in_doubt", "wanted"] as const)("nothing has recovered while a group is %s", async (state) => {
  const { ledger } = failing(1);
  const groups = { ...someGroups({ total: 383, in_sync: 382 }), [state]: 1 };
  const owing = { ...WELL, ledger: ledger && { ...ledger, groups } };
  expect(await toldAfter([owing, WELL], null, failing(1))).toEqual([
    expect.not.stringContaining("recovered"),
    expect.stringContaining("recovered"),
  ]);
});

test("a message names what lasts beside what begins or ends", async () => {
  expect(await toldAfter([failing(1), FAILING_AND_REJECTED, failing(1)])).toEqual([
    expect.stringMatching(/^groupsync eu: Needs attention: 1 failing group\.\n/),
    expect.stringMatching(
      /^groupsync eu: Needs attention: 1 rejected row\.\nThe groups of rejected rows .*\nStill: Needs attention: 1 failing group\.\nsync ok: /,
    ),
    `groupsync eu: Over: Needs attention: 1 rejected row.\nStill: Needs attention: 1 failing group.\n${SUMMARY}`,
  ]);
});

test("a problem that lasts is told once a day, unless another message has named it", async () => {
  const states = Array.from({ length: 60 }, (_, hour) => (hour < 20 ? failing(1) : FAILING_AND_REJECTED));
  expect((await toldAfter(states)).map((text) => text.split("\n")[0])).toEqual([
    "groupsync eu: Needs attention: 1 failing group.",
    "groupsync eu: Needs attention: 1 rejected row.",
    "groupsync eu: Still: Needs attention: 1 rejected row.",
  ]);
});

test("a failure is told by its code, because its words may quote a tenant's text", async () => {
  const run = aRunSummary({ outcome: "failed", error });
  expect(await toldAfter([FAILED], run)).toEqual([
    "groupsync eu: The last sync failed: SOURCE_UNAVAILABLE\nThe status page and the log say why, and what to do.\nsync failed: SOURCE_UNAVAILABLE (1 unchanged; 0 requests in 1.0 s)",
  ]);
});

test("the command that approves held removals is told", async () => {
  const held = { count: 1, code: "5-c1", groups: [] };
  const [text = ""] = await toldAfter([{ ...WELL, ledger: aHealthySnapshot({ held }) }]);
  expect(text.split("\n")[1]).toBe(
    "Look at the source first: are these tenants really gone? If they are meant to go; the code approves exactly these, once: groupsync sync --approve-deletions 5-c1",
  );
});

test("what another instance, or an earlier process, has left is not told again, but its end is", async () => {
  expect(await toldAfter([FAILED, WELL], null, FAILED)).toEqual([
    "groupsync eu: recovered. Over: The last sync failed: SOURCE_UNAVAILABLE",
  ]);
});

test("messages go one after the other, and hold nothing up", async () => {
  const got: string[] = [];
  const taken: (() => void)[] = [];
  const tell = (text: string): Promise<void> => {
    got.push(text);
    return new Promise((resolve) => taken.push(resolve));
  };
  const notifications = new Notifications();
  const notifier = { tell, beat: async () => {}, unreached: [], reachedAt: {} };
  notifications.announce(FAILED, null, notifier, NOW);
  notifications.announce(WELL, null, notifier, NOW);
  await new Promise(setImmediate);
  expect(got).toHaveLength(1);
  taken[0]?.();
  await new Promise(setImmediate);
  expect(got[1]).toContain("recovered");
  taken[1]?.();
  await notifications.ended();
});
