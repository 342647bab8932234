import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  afterApproval,
  afterFullRead,
  afterPartialRead,
  clockDifference,
  clockLead,
  longPause,
  NO_READ_HISTORY,
  nextReading,
  type ReadHistory,
  whileReading,
  withStaleCode,
} from "../../../src/core/plan/read-history.ts";
import { aReadHistory, aReading } from "../../builders/groups.ts";

const SOURCE = "the source";
const MINUTE = 60_000;
const HELD = { code: "0123456789abcdef0123", count: 3 };
const start = new Date("2026-03-01T00:00:00Z");
const at = (minutes: number): Date => new Date(start.getTime() + minutes * MINUTE);

/** What a read turned out to be, so many minutes after the start. */
interface Read {
  readonly result: "healthy" | "failed" | "held";
  readonly minutes: number;
  readonly source: string;
}
const aRead =
  (result: Read["result"]) =>
  (minutes: number, source = SOURCE): Read => ({ result, minutes, source });
const [healthy, failed, held] = [aRead("healthy"), aRead("failed"), aRead("held")];

/** The evidence after these reads, kept as a run keeps it: suspended first, then judged. */
const evidenceAfter = (...reads: readonly Read[]): ReadHistory =>
  reads.reduce((history, { result, minutes, source }) => {
    const reading = nextReading(history, source, at(minutes));
    if (result === "failed") return whileReading(history);
    return afterFullRead(history, reading, result === "held" ? HELD : null);
  }, NO_READ_HISTORY);

const clockAt = (history: ReadHistory, minutes: number, source = SOURCE): [number, number] => {
  const { ms, reads } = nextReading(history, source, at(minutes)).clock;
  return [ms / MINUTE, reads];
};

describe("the grace clock, in minutes and reads,", () => {
  it.each<[string, readonly Read[], number, [number, number]]>([
    ["begins with the first read", [], 500, [0, 1]],
    ["counts from one healthy read to the next", [healthy(0), healthy(5)], 10, [10, 3]],
    ["counts a long pause between two healthy reads in full", [healthy(0)], 6_000, [6_000, 2]],
    ["leaves out the time around a read that failed", [healthy(0), healthy(5), failed(10)], 15, [5, 3]],
    ["and goes on after it", [healthy(0), failed(10), healthy(20)], 30, [10, 3]],
    ["stands still while reads are held", [healthy(0), held(5), held(10)], 15, [0, 2]],
    ["and goes on after them", [healthy(0), held(5), healthy(15)], 20, [5, 3]],
    ["stands still while the system's is set back", [healthy(60)], 10, [0, 2]],
    ["and goes on from there", [healthy(60), healthy(10)], 15, [5, 3]],
  ])("%s", (_, reads, minutes, clock) => {
    expect(clockAt(evidenceAfter(...reads), minutes)).toEqual(clock);
  });

  it("leaves out the time between two sources", () => {
    const before = evidenceAfter(healthy(0), healthy(5));
    expect(clockAt(before, 10, "another")).toEqual([5, 3]);
    const after = evidenceAfter(healthy(0), healthy(5), healthy(10, "another"));
    expect(clockAt(after, 15, "another")).toEqual([10, 4]);
  });

  it("leaves out the time until a read on a host whose clock can't be trusted", () => {
    const { clock } = nextReading(evidenceAfter(healthy(0), healthy(5)), SOURCE, at(10), { hostLeadMs: 1 });
    expect(clock).toEqual({ ms: 5 * MINUTE, reads: 3 });
  });

  it("never runs back, whatever the reads and the system's clock do", () => {
    const anyRead = fc.record<Read>({
      result: fc.constantFrom("healthy", "failed", "held"),
      minutes: fc.integer({ min: -1_000, max: 1_000 }),
      source: fc.constantFrom(SOURCE, "another"),
    });
    fc.assert(
      fc.property(fc.array(anyRead, { maxLength: 8 }), anyRead, (reads, next) => {
        const before = evidenceAfter(...reads).clock;
        const { ms, reads: count } = evidenceAfter(...reads, next).clock;
        expect(ms).toBeGreaterThanOrEqual(before.ms);
        expect(count).toBe(before.reads + (next.result === "healthy" ? 1 : 0));
      }),
    );
  });
});

describe("the source", () => {
  it.each<[string, readonly Read[], boolean]>([
    ["counts as changed where none was known: groups may come from any", [], true],
    ["counts as changed where a first read failed", [failed(0, "another")], true],
    ["has not changed since a healthy read of it", [healthy(0)], false],
    ["has changed since a healthy read of another", [healthy(0, "another")], true],
    ["has changed until a read of it succeeds", [healthy(0, "another"), failed(5)], true],
    ["has not changed any more after a healthy read of it", [healthy(0, "another"), healthy(5)], false],
    ["nor after one that was held: who was gone is marked by then", [healthy(0, "another"), held(5)], false],
  ])("%s", (_, reads, changed) => {
    expect(nextReading(evidenceAfter(...reads), SOURCE, at(60)).sourceChanged).toBe(changed);
  });
});

describe("the table that the source led to", () => {
  const table = "public.customers";
  const found = afterFullRead(
    NO_READ_HISTORY,
    { ...nextReading(NO_READ_HISTORY, SOURCE, start), table },
    null,
  );

  it("is expected again, and not of another source", () => {
    expect(nextReading(NO_READ_HISTORY, SOURCE, start).table).toBeNull();
    expect(nextReading(found, SOURCE, at(1)).table).toBe(table);
    expect(nextReading(found, "another", at(1)).table).toBeNull();
  });

  it("is remembered after a read that failed, was held, or was of a few ids", () => {
    const reading = nextReading(found, SOURCE, at(1));
    expect(whileReading(found).table).toBe(table);
    expect(afterFullRead(found, reading, HELD).table).toBe(table);
    expect(afterPartialRead(NO_READ_HISTORY, { ...reading, table }).table).toBe(table);
  });
});

describe("what is held", () => {
  it("is kept until a good read", () => {
    expect(evidenceAfter(healthy(0)).held).toBeNull();
    expect(evidenceAfter(healthy(0), held(5)).held).toEqual(HELD);
    expect(evidenceAfter(held(5), failed(10)).held).toEqual(HELD);
    expect(evidenceAfter(held(5), healthy(10)).held).toBeNull();
  });

  it("has a code that is stale once a part of it is approved or done", () => {
    expect(afterApproval(evidenceAfter(held(5))).held).toEqual({ ...HELD, code: null });
    expect(afterApproval(evidenceAfter(healthy(5))).held).toBeNull();
    expect(withStaleCode(evidenceAfter(held(5)))).toEqual({
      ...evidenceAfter(held(5)),
      held: { ...HELD, code: null },
    });
    expect(withStaleCode(evidenceAfter(healthy(5)))).toEqual(evidenceAfter(healthy(5)));
  });

  it("needs a word of its own for each approval", () => {
    const history = aReadHistory({ approvals: 2 });
    expect(afterApproval(history)).toEqual({ ...history, approvals: 3 });
    expect(afterFullRead(history, aReading(), HELD).approvals).toBe(2);
  });
});

const HOUR = 60 * MINUTE;
const NOW = new Date("2026-03-02T12:00:00Z");

/** Syncs of a minute each, with these pauses in minutes between them. The first pause ends now. */
function syncs(...pauses: number[]): { startedAt: Date; finishedAt: Date }[] {
  let next = NOW.getTime();
  return pauses.map((pause) => {
    const finishedAt = new Date(next - pause * MINUTE);
    next = finishedAt.getTime() - MINUTE;
    return { startedAt: new Date(next), finishedAt };
  });
}
const usual = (pause: number, count = 9): number[] => Array<number>(count).fill(pause);

it.each<[string, number[], number | null]>([
  ["a day after syncs each few minutes is long", [24 * 60, ...usual(4)], 24 * HOUR],
  ["an hour is long", [60, ...usual(4)], HOUR],
  ["less than an hour is not", [59, ...usual(4)], null],
  ["a day is not, after syncs each day", [24 * 60, ...usual(24 * 60)], null],
  ["a weekend is not, after earlier weekends", [72 * 60, ...usual(24 * 60, 8), 72 * 60], null],
  ["more than twice the longest pause is", [721, ...usual(5, 8), 360], 721 * MINUTE],
  ["twice the longest pause is not", [720, ...usual(5, 8), 360], null],
  ["none is, if nobody knows what is usual", [24 * 60, ...usual(4, 8)], null],
  ["a clock that was set back makes none", [-60, ...usual(4)], null],
])("%s", (_, pauses, expected) => {
  expect(longPause(NOW, syncs(...pauses))).toBe(expected);
});

it("counts from the end of a sync: one that takes long is no pause", () => {
  const [last, ...earlier] = syncs(4, ...usual(4));
  const long = { startedAt: new Date(NOW.getTime() - 9 * HOUR), finishedAt: last?.finishedAt ?? NOW };
  expect(longPause(NOW, [long, ...earlier])).toBeNull();
});

it("is none before the first sync", () => {
  expect(longPause(NOW, [])).toBeNull();
});

const asked = new Date("2026-03-01T12:00:00Z");
/** How far the host is ahead if the database's clock was so many minutes ahead when it was asked. */
const lead = (databaseAhead: number, tookMinutes = 0): number | null => {
  const ms = clockLead({
    asked,
    tookMs: tookMinutes * MINUTE,
    answer: new Date(asked.getTime() + databaseAhead * MINUTE),
  });
  return ms === null ? null : ms / MINUTE;
};

test.each<[database: number, took: number, lead: number | null]>([
  [0, 0, null],
  [5, 0, null],
  [-5, 0, null],
  [6, 0, -6],
  [-6, 0, 6],
  [-26 * 60, 0, 26 * 60],
  // The database may have told its time at the beginning of a long answer, or at its end.
  [0, 10, null],
  [10, 10, null],
  [15, 10, null],
  [16, 10, -6],
  [-6, 10, 6],
])("a database %i minutes ahead, which answers within %i minutes", (database, took, expected) => {
  expect(lead(database, took)).toBe(expected);
});

test("says which clock is ahead", () => {
  expect(clockDifference(26 * 60 * MINUTE).message).toContain("is 26 h 0 min ahead of the clock");
  expect(clockDifference(-6 * MINUTE).message).toContain("is 6 min 0 s behind the clock");
});
