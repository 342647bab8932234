import { describe, expect, it, test } from "vitest";
import { BUCKETS, type SourceBucket, type TenantRow } from "../../../src/core/group/tenant.ts";
import {
  type ChangedBucket,
  findChangedBuckets,
  readBuckets,
} from "../../../src/engine/plan/read-buckets.ts";
import { roleWarnings } from "../../../src/engine/plan/read-differences.ts";
import type { LedgerBucket } from "../../../src/ports/ledger/groups.ts";
import { aLedgerGroup } from "../../builders/groups.ts";
import { collect } from "../../contracts/collect.ts";
import { aTenantRow, bucketsOf } from "../../fakes/tenant-source.ts";

it("warns of each table that the role can read, at once, and of each schema that others write to", () => {
  const schemas = ["public", "shared"];
  const secrets = ["ops.groups", "vault.tokens"];
  expect(roleWarnings({ name: "app", secrets, openSchemas: schemas })).toEqual([
    {
      kind: "warning",
      code: "SOURCE_ROLE_READS_TOKENS",
      message: expect.stringContaining("user app of source.url can read ops.groups and vault.tokens"),
      hint: expect.stringContaining("`groupsync init` writes its statements"),
      isStanding: true,
    },
    ...schemas.map((name) => ({
      kind: "warning",
      code: "SOURCE_PATH_OPEN",
      message: expect.stringContaining(`in schema ${name} too, where others than user app`),
      hint: expect.stringContaining(`REVOKE CREATE ON SCHEMA ${name} FROM`),
      isStanding: true,
    })),
  ]);
});

it("does not warn about a role that can only read the tenants", () => {
  expect(roleWarnings({ name: "reader", secrets: [], openSchemas: [] })).toEqual([]);
});

/** Compares these buckets of the source with these of the ledger. */
const compare = (source: readonly SourceBucket[], ledger: readonly LedgerBucket[]) =>
  findChangedBuckets(
    { buckets: async () => source },
    { buckets: async () => ledger },
    { serviceUpdates: null },
  );

const inSource = (overrides: Partial<SourceBucket> = {}): SourceBucket => ({
  bucket: 1,
  rows: 3,
  sum: "12",
  notReady: 0,
  ...overrides,
});
const inLedger = (overrides: Partial<LedgerBucket> = {}): LedgerBucket => ({
  bucket: 1,
  rows: 3,
  sum: "12",
  dirty: 0,
  owing: 0,
  ...overrides,
});

describe("a bucket counts as changed", () => {
  it.each([
    ["if the sum of its digests differs", inSource({ sum: "13" }), inLedger()],
    ["if its number of rows differs", inSource({ rows: 4 }), inLedger()],
    ["if a group in it has to be looked at", inSource(), inLedger({ dirty: 1 })],
  ])("%s", async (_, source, ledger) => {
    const known = ledger.rows + ledger.dirty;
    expect(await compare([source], [ledger])).toEqual({
      changed: [{ ...source, known }],
      unchanged: 0,
      notReady: 0,
      owing: 0,
    });
  });

  it("if only one side has it", async () => {
    const found = await compare([inSource(), inSource({ bucket: 2 })], [inLedger(), inLedger({ bucket: 3 })]);
    const onlyInSource = { ...inSource({ bucket: 2 }), known: 0 };
    const onlyInLedger = { bucket: 3, rows: 0, sum: "0", notReady: 0, known: 3 };
    expect(found).toEqual({ changed: [onlyInSource, onlyInLedger], unchanged: 3, notReady: 0, owing: 0 });
  });

  it("and unchanged buckets are left out, however many there are", async () => {
    const all = Array.from({ length: BUCKETS }, (_, bucket) => bucket);
    const found = await compare(
      all.map((bucket) => inSource({ bucket })),
      all.map((bucket) => inLedger({ bucket, owing: 1 })),
    );
    expect(found).toEqual({ changed: [], unchanged: 3 * BUCKETS, notReady: 0, owing: BUCKETS });
  });

  it("but not for rows that aren't ready and have no group: they are counted", async () => {
    const none = { rows: 0, sum: "0" };
    const source = [
      inSource({ notReady: 2 }),
      inSource({ bucket: 2, ...none, notReady: 3 }),
      inSource({ bucket: 3, ...none, notReady: 4 }),
      inSource({ bucket: 4, ...none, notReady: 5 }),
    ];
    const ledger = [
      inLedger(),
      inLedger({ bucket: 3, rows: 1, sum: "7" }),
      inLedger({ bucket: 4, ...none, dirty: 1 }),
    ];
    const { changed, ...counts } = await compare(source, ledger);
    expect(changed?.map(({ bucket }) => bucket)).toEqual([3, 4]);
    expect(counts).toEqual({ unchanged: 3, notReady: 5, owing: 0 });
  });
});

it("with many changed buckets, all buckets are read at once", async () => {
  const all = Array.from({ length: BUCKETS }, (_, bucket) => inLedger({ bucket }));
  const changed = (most: number) =>
    all.map(({ bucket }) => inSource({ bucket, ...(bucket < most && { sum: "13" }) }));
  expect((await compare(changed(BUCKETS / 4), all)).changed).toHaveLength(BUCKETS / 4);
  expect(await compare(changed(BUCKETS / 4 + 1), all)).toEqual({
    changed: undefined,
    unchanged: 0,
    notReady: 0,
    owing: 0,
  });
});

it("unverified groups are read again once the service has shown that it never updates", async () => {
  const asked: boolean[] = [];
  for (const serviceUpdates of [null, true, false]) {
    const ledger = {
      buckets: async ({ unverifiedAtRest }: { unverifiedAtRest: boolean }) => {
        asked.push(unverifiedAtRest);
        return [];
      },
    };
    await findChangedBuckets({ buckets: async () => [] }, ledger, { serviceUpdates });
  }
  expect(asked).toEqual([true, true, false]);
});

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
