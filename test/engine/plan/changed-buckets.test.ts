import { describe, expect, it } from "vitest";
import type { BucketSum } from "../../../src/core/group/tenant.ts";
import { BUCKETS } from "../../../src/core/group/tenant.ts";
import { findChangedBuckets } from "../../../src/engine/plan/changed-buckets.ts";
import type { LedgerBucket } from "../../../src/ports/ledger/groups.ts";

/** Compares these buckets of the source with these of the ledger. */
const compare = (source: readonly BucketSum[], ledger: readonly LedgerBucket[]) =>
  findChangedBuckets(
    { buckets: async () => source },
    { buckets: async () => ledger },
    { serviceUpdates: null },
  );

const inSource = (overrides: Partial<BucketSum> = {}): BucketSum => ({
  bucket: 1,
  rows: 3,
  sum: "12",
  ...overrides,
});
const inLedger = (overrides: Partial<LedgerBucket> = {}): LedgerBucket => ({
  ...inSource(),
  restless: 0,
  ...overrides,
});

describe("a bucket counts as changed", () => {
  it.each([
    ["if the sum of its digests differs", inSource({ sum: "13" }), inLedger()],
    ["if its number of rows differs", inSource({ rows: 4 }), inLedger()],
    ["if a group in it has to be looked at", inSource(), inLedger({ restless: 1 })],
  ])("%s", async (_, source, ledger) => {
    expect(await compare([source], [ledger])).toEqual({ buckets: [1], unchanged: 0 });
  });

  it("if only one side has it", async () => {
    const found = await compare([inSource(), inSource({ bucket: 2 })], [inLedger(), inLedger({ bucket: 3 })]);
    expect(found).toEqual({ buckets: [2, 3], unchanged: 3 });
  });

  it("and unchanged buckets are left out, however many there are", async () => {
    const all = Array.from({ length: BUCKETS }, (_, bucket) => inLedger({ bucket }));
    expect(await compare(all, all)).toEqual({ buckets: [], unchanged: 3 * BUCKETS });
  });
});

it("with many changed buckets, all buckets are read at once", async () => {
  const all = Array.from({ length: BUCKETS }, (_, bucket) => inLedger({ bucket }));
  const changed = (most: number) => all.map((one) => (one.bucket < most ? { ...one, sum: "13" } : one));
  expect((await compare(changed(BUCKETS / 4), all)).buckets).toHaveLength(BUCKETS / 4);
  expect(await compare(changed(BUCKETS / 4 + 1), all)).toEqual({ buckets: undefined, unchanged: 0 });
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
