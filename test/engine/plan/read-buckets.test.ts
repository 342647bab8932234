import { describe, expect, test } from "vitest";
import type { TenantRow } from "../../../src/core/group/tenant.ts";
import { type ChangedBucket, readBuckets } from "../../../src/engine/plan/read-differences.ts";
import { aLedgerGroup } from "../../builders/groups.ts";
import { collect } from "../../contracts/collect.ts";
import { aTenantRow, bucketsOf } from "../../fakes/tenant-source.ts";

const named = (...ids: readonly (string | null)[]) => ids.map((id) => aTenantRow([id]));
const idsOf = (rows: readonly TenantRow[]) => rows.map(({ cells: [id] }) => id);

interface Sides {
  readonly source: readonly TenantRow[];
  readonly groups: readonly string[];
  readonly rejected?: readonly (string | null)[];
  /** The ledger's rows in a bucket, if it has others than `groups` and `rejected`. */
  readonly known?: number;
  readonly unchanged?: number;
  readonly isIndexed?: boolean;
}

/** Reads all buckets of these rows and groups, as if all of them had changed. */
async function read({ source, groups, rejected = [], known, unchanged = 0, isIndexed = true }: Sides) {
  const bucketOf = (id: string | null) => aTenantRow([id]).digest.bucket;
  const inLedger = [...groups, ...rejected].map(bucketOf);
  const ofSource = bucketsOf(source);
  const changed: ChangedBucket[] = [...new Set([...ofSource.map(({ bucket }) => bucket), ...inLedger])].map(
    (bucket) => ({
      ...(ofSource.find((one) => one.bucket === bucket) ?? { bucket, rows: 0, sum: "0", notReady: 0 }),
      known: known ?? inLedger.filter((one) => one === bucket).length,
    }),
  );
  const looked: string[][] = [];
  const snapshot = {
    async *rows() {
      yield source;
    },
    isIndexed: async () => isIndexed,
    rowsOf: async (ids: readonly string[]) => {
      looked.push(ids.toSorted());
      return source.filter(({ cells: [id] }) => ids.includes(id as string));
    },
  };
  const ledger = {
    async *groups() {
      yield groups.map((id) => aLedgerGroup({ user_group_id: id }));
    },
    rejections: async () =>
      [...rejected, "in another bucket"].map((id) => ({
        ...{ user_group_id: id, bucket: id === "in another bucket" ? -1 : bucketOf(id) },
        ...{ code: "VALUE_NULL" as const, message: "", rows: 1, since: new Date(0) },
      })),
  };
  const found = await readBuckets(snapshot, ledger, changed, unchanged);
  const [rows, all] = [await collect(found.rows), await collect(found.groups)];
  return { looked, rows: idsOf(rows), groups: all.length, notReady: found.notReady };
}

describe("rows of changed buckets", () => {
  test("are looked up by the ids that the ledger knows", async () => {
    const gone = ["gone"];
    expect(await read({ source: named("a", "b"), groups: ["a", ...gone], rejected: ["b"] })).toEqual({
      looked: [["a", "b", "gone"]],
      rows: ["a", "b"],
      groups: 2,
      notReady: 0,
    });
  });

  test("are read by their buckets if one of them has an id that the ledger doesn't know", async () => {
    const sides = { source: named("a", "new"), groups: ["a"] };
    expect(await read(sides)).toMatchObject({ looked: [], rows: ["a", "new"] });
    // The ledger has as many, and others.
    expect(await read({ ...sides, known: 1 })).toMatchObject({ looked: [["a"]], rows: ["a", "new"] });
    expect(await read({ source: named(null), groups: [], rejected: [null] })).toMatchObject({
      looked: [[]],
      rows: [null],
    });
  });

  test("may be duplicates, removed, or not ready", async () => {
    const removed = aTenantRow(["r"], "seed", { removed: true });
    const waiting = aTenantRow(["w"], "seed", { notReady: true });
    const stranger = aTenantRow(["stranger"], "seed", { notReady: true });
    const source = [...named("a", "a"), removed, waiting, stranger];
    expect(await read({ source, groups: ["a", "r", "w"], known: 2 })).toMatchObject({
      looked: [["a", "r", "w"]],
      rows: ["a", "a", "r", "w"],
      notReady: 1,
    });
  });

  test.each([
    ["no index finds an id", { isIndexed: false }, false],
    ["there are many", { known: 101 }, false],
    ["there are many, and still few of all", { known: 101, unchanged: 10_100 }, true],
    ["there are too many to keep", { known: 5_001, unchanged: 10_000_000 }, false],
  ])("are looked up or read by their buckets: %s", async (_, more, isLookedUp) => {
    const { looked, rows } = await read({ source: named("a"), groups: ["a"], ...more });
    expect(looked).toHaveLength(isLookedUp ? 1 : 0);
    expect(rows).toEqual(["a"]);
  });
});
