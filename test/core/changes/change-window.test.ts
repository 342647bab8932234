import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ChangedRow,
  type ChangeWindow,
  compareValues,
  isFlood,
  MOST_AHEAD_MS,
  MOST_ROWS,
  nextPoll,
  OVERLAP_MS,
  openWindow,
  polled,
  reopenWindow,
} from "../../../src/core/changes/change-window.ts";
import { ANYTHING, type Notice } from "../../../src/core/changes/notice.ts";
import { type AColumn, aColumn, type Version } from "../../fakes/change-column.ts";
import { rounds } from "../../support/long.ts";

const MINUTE = 60_000;

/** Looks at a column as the poller does, over and over. */
class Looks {
  readonly #column: AColumn;
  /** When each id was last noticed. */
  readonly #lastOf = new Map<string, number>();
  window: ChangeWindow;
  mostSeen = 0;

  constructor(column: AColumn, at: number) {
    this.#column = column;
    const newest = column.newest(at);
    const rows = column.rows(newest && { value: newest.before, isIncluded: true }, at, MOST_ROWS + 1);
    const time = { begun: at, ended: at };
    this.window = isFlood(rows) ? this.#reopened(at, at) : openWindow(newest, rows, time);
  }

  /** The ids that this poll has noticed, or "anything". */
  look(begun: number, ended = begun, sees = begun): string[] {
    const ids = this.#look(begun, ended, sees).map((notice) =>
      notice.kind === "tenant" ? notice.user_group_id : notice.kind,
    );
    for (const id of ids) this.#lastOf.set(id, sees);
    this.mostSeen = Math.max(this.mostSeen, this.window.seen.size);
    return ids;
  }

  #look(begun: number, ended: number, sees: number): readonly Notice[] {
    const rows = this.#column.rows(nextPoll(this.window), sees, MOST_ROWS + 1);
    if (isFlood(rows)) {
      this.window = this.#reopened(begun, ended, sees);
      return [ANYTHING];
    }
    const { window, notices } = polled(this.window, rows, { begun, ended });
    this.window = window;
    return notices;
  }

  hasNoticed({ id, committed }: Version): boolean {
    return Math.max(this.#lastOf.get(id) ?? -1, this.#lastOf.get("anything") ?? -1) >= committed;
  }

  #reopened(begun: number, ended: number, sees = begun): ChangeWindow {
    return reopenWindow(this.#column.newest(sees), { begun, ended });
  }
}

/** A poll every second, from `from` to `to`. */
const everySecond = (looks: Looks, from: number, to: number): string[] => {
  const ids: string[] = [];
  for (let at = from; at <= to; at += 1_000) ids.push(...looks.look(at));
  return ids;
};

describe("a window", () => {
  test("notices a row that commits a minute after it got its value", () => {
    const column = aColumn([
      { id: "late", given: 5_000, committed: 64_000 },
      { id: "early", given: 20_000, committed: 20_000 },
    ]);
    const looks = new Looks(column, 1_000);
    expect(everySecond(looks, 2_000, 3 * MINUTE)).toEqual(["early", "late"]);
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
    expect(nextPoll(looks.window)).toBeNull();
    everySecond(looks, 6_000 + OVERLAP_MS, 7_000 + OVERLAP_MS);
    expect(nextPoll(looks.window)).toEqual({ value: looks.window.newest, isIncluded: false });
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
    expect(polled(window, [row], { begun: 1, ended: 1 }).notices).toEqual([]);
  });
});

describe("a flood", () => {
  const flood = (given: number, count = MOST_ROWS + 1): Version[] =>
    Array.from({ length: count }, (_, n) => ({ id: `f${n}`, given, committed: given }));

  test("before the start is no notice, but the full sync looks again after the overlap", () => {
    const looks = new Looks(aColumn(flood(5_000)), 6_000);
    expect(everySecond(looks, 7_000, 3 * MINUTE)).toEqual(["anything"]);
  });

  test("begins with one row more than a poll may have", () => {
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
    })
    .map(({ delay, ...version }) => ({ ...version, committed: version.given + delay }));
  const aLook = fc.record({
    pause: fc.oneof(fc.integer({ min: 100, max: 2_000 }), fc.integer({ min: 100, max: 3 * MINUTE })),
    takes: fc.nat(1_500),
  });
  const anUnit = fc.constantFrom(1, 1_000);
  const START = 2 * MINUTE;

  /** Looks at these times, and then long enough for the overlap to be over. `check` is called after each poll. */
  const play = (
    versions: readonly Version[],
    unit: number,
    pauses: readonly { readonly pause: number; readonly takes: number }[],
    check: (missed: readonly Version[]) => void = () => {},
  ): void => {
    const looks = new Looks(aColumn(versions, unit), START);
    let now = START;
    let pending = versions.filter(({ committed }) => committed > START);
    const last = { pause: 10 * MINUTE, takes: 0 };
    for (const { pause, takes } of [...pauses, last, last, last]) {
      const sees = now + pause + Math.floor(takes / 2);
      looks.look(now + pause, now + pause + takes, sees);
      now += pause + takes;
      pending = pending.filter((version) => !looks.hasNoticed(version));
      check(pending.filter(({ committed }) => committed <= sees));
      expect(looks.mostSeen).toBeLessThanOrEqual(MOST_ROWS);
      expect(looks.window.marks.length).toBeLessThanOrEqual(OVERLAP_MS / 1_000 + 2);
    }
    expect(pending).toEqual([]);
  };

  test("each row is noticed by the first poll after its commit", () => {
    fc.assert(
      fc.property(
        fc.array(aVersion, { maxLength: 30 }),
        fc.array(aLook, { minLength: 1, maxLength: 60 }),
        anUnit,
        (versions, pauses, unit) => {
          play(versions, unit, pauses, (missed) => expect(missed).toEqual([]));
        },
      ),
      { numRuns: rounds(5_000) },
    );
  });

  test("each row of a flood, and each row beside it, is noticed or found by a full sync", () => {
    fc.assert(
      fc.property(
        fc.array(aVersion, { maxLength: 10 }),
        aVersion,
        fc.array(aLook, { minLength: 1, maxLength: 12 }),
        anUnit,
        (singles, flood, pauses, unit) => {
          const rows = Array.from({ length: MOST_ROWS }, (_, n) => ({ ...flood, id: `flood-${n}` }));
          play([...singles, ...rows], unit, pauses);
        },
      ),
      { numRuns: rounds(100) },
    );
  });
});

test.each([
  ["-Infinity", "-10", "-9.5", "-9.45", "0", "0.07", "9", "10", "9223372036854775806", "9223372036854775807"],
  ["9", "10.25", "Infinity"],
  ["2026-03-01 11:59:59.9+00", "2026-03-01 12:00:00+00", "2026-03-01 12:00:00.000001+00"],
  ["2026-03-01 12:00:00", "2026-03-01 12:00:00.5", "2026-03-01 12:00:01"],
])("the values from %s on are ordered", (...ordered) => {
  for (const [n, one] of ordered.entries())
    for (const [m, other] of ordered.entries()) expect(compareValues(one, other)).toBe(Math.sign(n - m));
});
