import { describe, expect, it } from "vitest";
import { BUCKETS } from "../../src/core/tenant.ts";
import { findSuspects } from "../../src/engine/suspects.ts";
import type { LedgerBucket } from "../../src/ports/ledger.ts";
import type { BucketSum } from "../../src/ports/tenant-source.ts";

/** Compares these buckets of the source with these of the ledger. */
const compare = (source: readonly BucketSum[], ledger: readonly LedgerBucket[]) =>
  findSuspects({ buckets: async () => source }, { buckets: async () => ledger }, { serviceUpdates: null });

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

describe("a bucket is suspect", () => {
  it.each([
    ["where its digests add up to something else", inSource({ sum: "13" }), inLedger()],
    ["where it has another number of rows", inSource({ rows: 4 }), inLedger()],
    ["where a group in it waits for something", inSource(), inLedger({ restless: 1 })],
  ])("%s", async (_, source, ledger) => {
    expect(await compare([source], [ledger])).toEqual({ buckets: [1], unchanged: 0 });
  });

  it("where only one side has it", async () => {
    const found = await compare([inSource(), inSource({ bucket: 2 })], [inLedger(), inLedger({ bucket: 3 })]);
    expect(found).toEqual({ buckets: [2, 3], unchanged: 3 });
  });

  it("and no other, however many there are", async () => {
    const all = Array.from({ length: BUCKETS }, (_, bucket) => inLedger({ bucket }));
    expect(await compare(all, all)).toEqual({ buckets: [], unchanged: 3 * BUCKETS });
  });
});

it("where much is suspect, everything is read in one go", async () => {
  const all = Array.from({ length: BUCKETS }, (_, bucket) => inLedger({ bucket }));
  const changed = (most: number) => all.map((one) => (one.bucket < most ? { ...one, sum: "13" } : one));
  expect((await compare(changed(BUCKETS / 4), all)).buckets).toHaveLength(BUCKETS / 4);
  expect(await compare(changed(BUCKETS / 4 + 1), all)).toEqual({ buckets: undefined, unchanged: 0 });
});

it("unverified groups are looked at again once the service has shown that it never updates", async () => {
  const asked: boolean[] = [];
  for (const serviceUpdates of [null, true, false]) {
    const ledger = {
      buckets: async ({ unverifiedAtRest }: { unverifiedAtRest: boolean }) => {
        asked.push(unverifiedAtRest);
        return [];
      },
    };
    await findSuspects({ buckets: async () => [] }, ledger, { serviceUpdates });
  }
  expect(asked).toEqual([true, true, false]);
});
