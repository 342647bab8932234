import { describe, expect, test } from "vitest";
import { type LeaseState, MOST_REMEMBERED, RecentWrites } from "../../../src/core/record/recent-writes.ts";
import { aRecord } from "../../builders/records.ts";

const AT_FIRST: LeaseState = { epoch: "0", writes: 0, writesBefore: 0, server: null };

/** A process that holds the lease 5, and writes these ids one by one. */
function holding(...ids: readonly string[]) {
  const recent = new RecentWrites(new Date(0));
  recent.acquired("5", AT_FIRST, "a server");
  const write = (...records: readonly string[]): void => {
    recent.begins();
    recent.committed(new Map(records.map((user_group_id) => [user_group_id, aRecord({ user_group_id })])));
  };
  for (const id of ids) write(id);
  return { recent, write };
}

const left = (epoch: string, writes: number, writesBefore = 0): LeaseState => ({
  ...{ epoch, writes, writesBefore, server: "a server" },
});

const lostOf = ({ lost }: RecentWrites) => lost && { ...lost, records: [...lost.records.keys()] };

describe("what a ledger has lost", () => {
  test.each<[what: string, found: LeaseState, lost: readonly string[] | null, mayBeMore: boolean]>([
    ["nothing, if all writes are there", left("5", 3), null, false],
    ["nothing, if the next holder began after them", left("6", 9, 3), null, false],
    ["the last writes of the same lease", left("5", 1), ["b", "c"], false],
    ["all of a lease that it doesn't know", left("4", 0), ["a", "b", "c"], false],
    ["perhaps more, if another holder began before them", left("6", 9, 2), ["c"], true],
  ])("is %s", (_, found, lost, mayBeMore) => {
    const { recent } = holding("a", "b", "c");
    recent.acquired("7", found, "a server");
    const isOvertaken = mayBeMore;
    expect(lostOf(recent)).toEqual(lost && { records: lost, mayBeMore, isOvertaken });
    recent.recovered();
    recent.acquired("8", left("7", found.writes), "a server");
    expect(recent.lost).toBeNull();
  });

  test.each([
    ["nothing, on another server too, as long as this process has the lease", false],
    ["perhaps all that another process did, if this one had given back its lease before a failover", true],
  ])("is %s", (_, isReleased) => {
    const { recent } = holding("a");
    if (isReleased) recent.released();
    recent.acquired("7", left("5", 1), "another server");
    expect(lostOf(recent)).toEqual(isReleased ? { records: [], mayBeMore: true, isOvertaken: false } : null);
  });

  test("are the groups that were saved under the present lease, as long as all are remembered", () => {
    const { recent, write } = holding("a", "b");
    expect(recent.savedUnderLease).toEqual(["a", "b"]);
    recent.acquired("6", left("5", 2), "a server");
    expect(recent.savedUnderLease).toEqual([]);
    write("b", "c");
    expect(recent.savedUnderLease).toEqual(["b", "c"]);
    for (let n = 0; n < MOST_REMEMBERED; n++) write(`other ${n}`);
    expect(recent.savedUnderLease).toBeNull();
  });

  test("is the records that this process saved last", () => {
    const { recent, write } = holding("a", "b");
    write("a");
    expect(recent).toMatchObject({ since: new Date(0), epoch: "5", server: "a server", writes: 3 });
    recent.acquired("6", left("5", 2), null);
    expect(recent.lost?.records).toEqual(new Map([["a", aRecord({ user_group_id: "a" })]]));
    expect(recent).toMatchObject({ epoch: "6", server: null, writes: 2 });
  });

  test.each<[string, LeaseState, number, readonly string[], boolean]>([
    ["while nobody else had the lease", left("5", 2), 1, ["b"], false],
    ["and not before another process had the lease", left("6", 4, 2), 0, [], true],
    ["and not before another loss", left("5", 1), 0, [], true],
  ])("is what was saved %s", (_, found, writes, records, mayBeMore) => {
    const { recent } = holding("a", "b");
    recent.acquired("7", found, "a server");
    recent.recovered();
    recent.acquired("8", left("7", writes), "a server");
    expect(lostOf(recent)).toEqual({ records, mayBeMore, isOvertaken: false });
  });

  test("is nothing, if the lost writes have changed no group", () => {
    const { recent, write } = holding("a");
    write();
    recent.acquired("6", left("5", 1), "a server");
    expect(recent.lost).toBeNull();
  });

  test("is told from a lease that another process has taken", () => {
    const { recent } = holding("a");
    const rewound = { code: "LEDGER_REWOUND", message: expect.stringContaining("back in time") };
    const taken = { code: "LEASE_LOST", message: expect.stringContaining("has taken the lease") };
    expect(recent.whyLost(left("6", 1, 1))).toMatchObject(taken);
    for (const found of [left("6", 1), left("5", 0), left("4", 1), undefined])
      expect(recent.whyLost(found)).toMatchObject(rewound);
    expect(new RecentWrites(new Date(0)).whyLost()).toMatchObject(taken);
  });

  test("stays to be recorded until it is, whatever happens meanwhile", () => {
    const { recent } = holding("a", "b");
    recent.acquired("6", left("5", 1), "a server");
    expect(lostOf(recent)).toEqual({ records: ["b"], mayBeMore: false, isOvertaken: false });
    recent.acquired("9", left("8", 4, 1), "a server");
    expect(lostOf(recent)).toEqual({ records: ["b"], mayBeMore: true, isOvertaken: true });
  });

  test("may be more than is remembered from 20,000 records on", () => {
    const many = holding("first");
    many.write(...Array.from({ length: 19_999 }, (_, n) => `t${n}`));
    many.recent.acquired("6", left("5", 1), "a server");
    expect(lostOf(many.recent)).toMatchObject({ mayBeMore: false });
    const older = holding("first");
    older.write(...Array.from({ length: 19_999 }, (_, n) => `t${n}`));
    older.write("last");
    older.recent.acquired("6", left("5", 0), "a server");
    expect(lostOf(older.recent)).toMatchObject({ mayBeMore: true });
    const all = holding();
    all.write(...Array.from({ length: 20_000 }, (_, n) => `t${n}`));
    all.recent.acquired("6", left("5", 0), "a server");
    expect(lostOf(all.recent)).toMatchObject({ mayBeMore: true });
  });

  test("may be anything on another server, unless the number of writes shows that nothing is lost", () => {
    const { recent } = holding("a");
    recent.acquired("6", left("5", 1), "another server");
    expect(recent.lost).toBeNull();
    const fresh = new RecentWrites(new Date(0));
    fresh.acquired("6", left("5", 1), null);
    expect(fresh.lost).toBeNull();
    fresh.acquired("9", left("8", 1, 1), "another server");
    expect(lostOf(fresh)).toEqual({ records: [], mayBeMore: true, isOvertaken: false });
  });
});
