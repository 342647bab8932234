import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ChangedRow,
  type ChangeWindow,
  isFlood,
  looked,
  MOST_AHEAD_MS,
  MOST_ROWS,
  nextLook,
  OVERLAP_MS,
  openWindow,
  reopenWindow,
} from "../../../src/core/changes/change-window.ts";
import type { Notice } from "../../../src/core/changes/notice.ts";
import { rounds } from "../../support/long.ts";
import { type AColumn, aColumn, type Version } from "./a-change-column.ts";

const MINUTE = 60_000;

/** Looks at a column as the poller does, over and over. */
class Looks {
  readonly #column: AColumn;
  readonly noticed: { readonly notice: Notice; readonly at: number }[] = [];
  window: ChangeWindow;
  mostSeen = 0;

  constructor(column: AColumn, at: number) {
    this.#column = column;
    const newest = column.newest(at);
    const rows = column.rows(newest && { value: newest.before, isIncluded: true }, at, MOST_ROWS + 1);
    const time = { begun: at, ended: at };
    this.window = isFlood(rows) ? this.#reopened(at, at) : openWindow(newest, rows, time);
  }

  /** The ids that this look has noticed. */
  look(begun: number, ended = begun, sees = begun): string[] {
    const before = this.noticed.length;
    const rows = this.#column.rows(nextLook(this.window), sees, MOST_ROWS + 1);
    if (isFlood(rows)) {
      this.window = this.#reopened(begun, ended, sees);
      this.noticed.push({ notice: { kind: "anything" }, at: sees });
    } else {
      const { window, notices } = looked(this.window, rows, { begun, ended });
      this.window = window;
      for (const notice of notices) this.noticed.push({ notice, at: sees });
    }
    this.mostSeen = Math.max(this.mostSeen, this.window.seen.size);
    return this.noticed
      .slice(before)
      .map(({ notice }) => (notice.kind === "tenant" ? notice.user_group_id : "anything"));
  }

  hasNoticed({ id, committed }: Version): boolean {
    return this.noticed.some(
      ({ notice, at }) => at >= committed && (notice.kind === "anything" || notice.user_group_id === id),
    );
  }

  #reopened(begun: number, ended: number, sees = begun): ChangeWindow {
    const newest = this.#column.newest(sees);
    const rows = this.#column.rows(newest && { value: newest.value, isIncluded: true }, sees, MOST_ROWS + 1);
    return reopenWindow(newest, rows, { begun, ended });
  }
}

/** A look every second, from `from` to `to`. */
const everySecond = (looks: Looks, from: number, to: number): string[] => {
  const ids: string[] = [];
  for (let at = from; at <= to; at += 1_000) ids.push(...looks.look(at));
  return ids;
};

describe("a window", () => {
  test("notices a new row once, and not the rows from before the start", () => {
    const column = aColumn([
      { id: "old", given: 0, committed: 0 },
      { id: "new", given: 1_500, committed: 1_500 },
    ]);
    const looks = new Looks(column, 1_000);
    expect(everySecond(looks, 2_000, 3 * MINUTE)).toEqual(["new"]);
  });

  test("notices the first row of an empty table", () => {
    const looks = new Looks(aColumn([{ id: "first", given: 1_500, committed: 1_500 }]), 1_000);
    expect(everySecond(looks, 2_000, 3 * MINUTE)).toEqual(["first"]);
  });

  test("notices a row that commits a minute after it got its value", () => {
    const column = aColumn([
      { id: "late", given: 5_000, committed: 64_000 },
      { id: "early", given: 20_000, committed: 20_000 },
    ]);
    const looks = new Looks(column, 1_000);
    expect(everySecond(looks, 2_000, 3 * MINUTE)).toEqual(["early", "late"]);
  });

  test("notices a row that was uncommitted when the looks began", () => {
    const column = aColumn([
      { id: "late", given: 5_000, committed: 40_000 },
      { id: "early", given: 20_000, committed: 20_000 },
    ]);
    const looks = new Looks(column, 30_000);
    expect(everySecond(looks, 31_000, MINUTE)).toEqual(["late"]);
  });

  test("notices, after the database was away, what was under way when it went", () => {
    const column = aColumn([
      { id: "early", given: 9_000, committed: 9_000 },
      { id: "late", given: 5_000, committed: 20_000 },
    ]);
    const looks = new Looks(column, 1_000);
    expect(looks.look(10_000)).toEqual(["early"]);
    expect(looks.look(10 * MINUTE)).toEqual(["late"]);
  });

  test("notices two updates of a row in one second, and a row again with each new value", () => {
    const column = aColumn(
      [
        { id: "a", given: 5_100, committed: 5_100 },
        { id: "a", given: 5_900, committed: 5_900 },
        { id: "a", given: 7_000, committed: 7_000 },
      ],
      1_000,
    );
    const looks = new Looks(column, 1_000);
    expect([looks.look(5_500), looks.look(6_000), looks.look(7_000), looks.look(8_000)]).toEqual([
      ["a"],
      ["a"],
      ["a"],
      [],
    ]);
  });

  test("asks only for rows beyond the newest value once nothing new has come for the overlap", () => {
    const column = aColumn([{ id: "a", given: 5_000, committed: 5_000 }]);
    const looks = new Looks(column, 1_000);
    everySecond(looks, 6_000, 5_000 + OVERLAP_MS);
    expect(nextLook(looks.window)).toBeNull();
    everySecond(looks, 6_000 + OVERLAP_MS, 7_000 + OVERLAP_MS);
    expect(nextLook(looks.window)).toEqual({ value: looks.window.newest, isIncluded: false });
    expect(looks.window.seen.size).toBe(0);
  });

  test("keeps its place if the newest rows are deleted", () => {
    const column = aColumn([
      { id: "a", given: 5_000, committed: 5_000 },
      { id: "gone", given: 9_000, committed: 9_000, deleted: 11_000 },
      { id: "b", given: 12_000, committed: 12_000 },
    ]);
    const looks = new Looks(column, 1_000);
    expect(everySecond(looks, 6_000, 3 * MINUTE)).toEqual(["a", "gone", "b"]);
  });

  test("has no notice for a row without an id", () => {
    const window = openWindow(null, [], { begun: 0, ended: 0 });
    const row: ChangedRow = { user_group_id: null, value: "1", digest: "1" };
    expect(looked(window, [row], { begun: 1, ended: 1 }).notices).toEqual([]);
  });
});

describe("a flood", () => {
  const flood = (given: number, count = MOST_ROWS + 1): Version[] =>
    Array.from({ length: count }, (_, n) => ({ id: `f${n}`, given, committed: given }));

  test("becomes one notice, and one more after the overlap; single rows are noticed meanwhile", () => {
    const column = aColumn([
      ...flood(5_000),
      { id: "late", given: 4_000, committed: 30_000 },
      { id: "a", given: 10_000, committed: 10_000 },
    ]);
    const looks = new Looks(column, 1_000);
    expect(everySecond(looks, 6_000, 3 * MINUTE)).toEqual(["anything", "a", "anything"]);
  });

  test("isn't read again, though all of its rows have one value", () => {
    const looks = new Looks(aColumn(flood(5_000)), 1_000);
    looks.look(6_000);
    expect(nextLook(looks.window)).toEqual({ value: looks.window.newest, isIncluded: false });
    expect(looks.window.seen.size).toBe(0);
  });

  test("leaves rows with its newest value to be noticed, if there are few", () => {
    const column = aColumn(
      [
        ...flood(5_000),
        { id: "a", given: 7_200, committed: 7_200 },
        { id: "b", given: 7_800, committed: 7_800 },
      ],
      1_000,
    );
    const looks = new Looks(column, 1_000);
    expect([looks.look(7_500), looks.look(8_000)]).toEqual([["anything"], ["b"]]);
  });

  test("before the start is no notice, but the full sync looks again after the overlap", () => {
    const looks = new Looks(aColumn(flood(5_000)), 6_000);
    expect(everySecond(looks, 7_000, 3 * MINUTE)).toEqual(["anything"]);
  });

  test("begins with one row more than a look may have", () => {
    const looks = new Looks(aColumn(flood(5_000, MOST_ROWS)), 1_000);
    expect(looks.look(6_000)).toHaveLength(MOST_ROWS);
    expect(looks.look(7_000)).toEqual([]);
  });
});

describe("whatever happens", () => {
  const aVersion = fc
    .record({
      id: fc.constantFrom("a", "b", "c", "d"),
      given: fc.nat(8 * MINUTE),
      ahead: fc.integer({ min: -5_000, max: MOST_AHEAD_MS }),
      delay: fc.nat(53_000),
      rows: fc.oneof(
        { weight: 40, arbitrary: fc.constant(1) },
        { weight: 1, arbitrary: fc.constant(MOST_ROWS) },
      ),
    })
    .map(({ delay, ...version }) => ({ ...version, committed: version.given + delay }));
  const aLook = fc.record({
    pause: fc.oneof(fc.integer({ min: 100, max: 2_000 }), fc.integer({ min: 100, max: 3 * MINUTE })),
    takes: fc.nat(1_500),
  });
  const versionsOf = (changes: readonly (Version & { readonly rows: number })[]): Version[] =>
    changes.flatMap(({ rows, ...version }, change) =>
      Array.from({ length: rows }, (_, n) => (n === 0 ? version : { ...version, id: `${change}-${n}` })),
    );

  test("each row is noticed by the first look after its commit, or a full sync looks later", () => {
    fc.assert(
      fc.property(
        fc.array(aVersion, { maxLength: 30 }),
        fc.array(aLook, { minLength: 1, maxLength: 60 }),
        fc.constantFrom(1, 1_000),
        (changes, pauses, unit) => {
          const versions = versionsOf(changes);
          const isFlooded = changes.some(({ rows }) => rows > 1);
          const started = 2 * MINUTE;
          const looks = new Looks(aColumn(versions, unit), started);
          let now = started;
          let pending = versions.filter(({ committed }) => committed > started);
          const step = (pause: number, takes: number): void => {
            const begun = now + pause;
            const sees = begun + Math.floor(takes / 2);
            now = begun + takes;
            looks.look(begun, now, sees);
            if (!isFlooded) {
              const missed = pending.filter(
                (version) => version.committed <= sees && !looks.hasNoticed(version),
              );
              expect(missed).toEqual([]);
            }
            pending = pending.filter((version) => !looks.hasNoticed(version));
            expect(looks.mostSeen).toBeLessThanOrEqual(MOST_ROWS);
            expect(looks.window.marks.length).toBeLessThanOrEqual(OVERLAP_MS / 1_000 + 2);
          };
          for (const { pause, takes } of pauses) step(pause, takes);
          for (let n = 0; n < 4; n++) step(10 * MINUTE, 0);
          expect(pending).toEqual([]);
        },
      ),
      { numRuns: rounds(2_000) },
    );
  });
});
