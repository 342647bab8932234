import { describe, expect, it } from "vitest";
import { BUCKETS, type SourceBucket } from "../../../src/core/group/tenant.ts";
import { findChangedBuckets } from "../../../src/engine/plan/read-differences.ts";
import type { LedgerBucket } from "../../../src/ports/ledger/groups.ts";

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
  restless: 0,
  ...overrides,
});

describe("a bucket counts as changed", () => {
  it.each([
    ["if the sum of its digests differs", inSource({ sum: "13" }), inLedger()],
    ["if its number of rows differs", inSource({ rows: 4 }), inLedger()],
    ["if a group in it has to be looked at", inSource(), inLedger({ restless: 1 })],
  ])("%s", async (_, source, ledger) => {
    const known = ledger.rows + ledger.restless;
    expect(await compare([source], [ledger])).toEqual({
      changed: [{ ...source, known }],
      unchanged: 0,
      notReady: 0,
    });
  });

  it("if only one side has it", async () => {
    const found = await compare([inSource(), inSource({ bucket: 2 })], [inLedger(), inLedger({ bucket: 3 })]);
    const onlyInSource = { ...inSource({ bucket: 2 }), known: 0 };
    const onlyInLedger = { bucket: 3, rows: 0, sum: "0", notReady: 0, known: 3 };
    expect(found).toEqual({ changed: [onlyInSource, onlyInLedger], unchanged: 3, notReady: 0 });
  });

  it("and unchanged buckets are left out, however many there are", async () => {
    const all = Array.from({ length: BUCKETS }, (_, bucket) => bucket);
    const found = await compare(
      all.map((bucket) => inSource({ bucket })),
      all.map((bucket) => inLedger({ bucket })),
    );
    expect(found).toEqual({ changed: [], unchanged: 3 * BUCKETS, notReady: 0 });
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
      inLedger({ bucket: 4, ...none, restless: 1 }),
    ];
    const { changed, ...counts } = await compare(source, ledger);
    expect(changed?.map(({ bucket }) => bucket)).toEqual([3, 4]);
    expect(counts).toEqual({ unchanged: 3, notReady: 5 });
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
