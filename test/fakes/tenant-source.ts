import { createHash } from "node:crypto";
import {
  BUCKETS,
  type BucketSum,
  type Cell,
  type SourceBucket,
  type TenantRow,
} from "../../src/core/group/tenant.ts";
import type { TenantLookups, TenantSnapshot, TenantSource } from "../../src/ports/tenant-source.ts";
import type { Step } from "./instance.ts";

const TABLE = "memory.customers";

/**
 * A row of the customer's table. A missing column is null. The row is flagged as removed if its column `removed` is true, and
 * isn't ready if its column `ready` is false.
 */
export type TenantRecord = Readonly<Record<string, Cell>>;

export class InMemoryTenantSource implements TenantSource {
  readonly #records: readonly TenantRecord[];
  readonly #step: Step;
  readonly #batch: number;

  constructor(records: readonly TenantRecord[], step: Step, batch = 2) {
    this.#records = records;
    this.#step = step;
    this.#batch = batch;
  }

  async open(columns: readonly string[], seed: string): Promise<TenantSnapshot> {
    const [step, batch] = [this.#step, this.#batch];
    const all = this.#rows(columns, seed);
    await step({ when: "before", call: "openSource" });
    return {
      table: TABLE,
      async buckets() {
        await step({ when: "before", call: "sourceBuckets" });
        return bucketsOf(all);
      },
      async *rows(buckets) {
        const rows = all.filter(({ digest }) => buckets?.includes(digest.bucket) ?? true);
        for (let start = 0; start < rows.length; start += batch) {
          await step({ when: "before", call: "rows" });
          yield rows.slice(start, start + batch);
        }
      },
      async isIndexed() {
        return true;
      },
      async rowsOf(ids) {
        await step({ when: "before", call: "rows" });
        return all.filter(({ cells: [id] }) => ids.includes(id as string));
      },
      async role() {
        return { name: "reader", secrets: [], openSchemas: [] };
      },
      async close() {},
    };
  }

  async lookups(columns: readonly string[], seed: string): Promise<TenantLookups> {
    await this.#step({ when: "before", call: "openLookups" });
    return {
      table: TABLE,
      isIndexed: true,
      rowsOf: async (ids) => {
        const rows = this.#rows(columns, seed).filter(({ cells: [id] }) => ids.includes(id as string));
        await this.#step({ when: "before", call: "rowsOf" });
        return rows;
      },
      async close() {},
    };
  }

  /** The rows as they are now. */
  #rows(columns: readonly string[], seed: string): TenantRow[] {
    return this.#records
      .map((record) =>
        aTenantRow(
          columns.map((column) => record[column] ?? null),
          seed,
          { removed: record.removed === true, notReady: record.removed !== true && record.ready === false },
        ),
      )
      .sort((a, b) => Buffer.compare(bytesOf(a.cells[0]), bytesOf(b.cells[0])));
  }
}

/** A row with its digest, as a database would compute it. */
export function aTenantRow(
  cells: readonly Cell[],
  seed = "seed",
  { removed = false, notReady = false }: Partial<Pick<TenantRow, "removed" | "notReady">> = {},
): TenantRow {
  const hashed = (value: unknown): Buffer => createHash("sha256").update(JSON.stringify(value)).digest();
  const bucket = hashed(cells[0]).readUInt32LE() % BUCKETS;
  const digest = { bucket, digest: String(hashed([seed, cells]).readBigInt64LE()) };
  return { cells, digest, removed, notReady };
}

/** The buckets of these rows, as a source has them. */
export function bucketsOf(rows: readonly TenantRow[]): SourceBucket[] {
  const present = rows.filter((row) => !row.removed);
  const sums = sumsOf(present.filter((row) => !row.notReady).map((row) => row.digest));
  return [...new Set(present.map((row) => row.digest.bucket))].map((bucket) => ({
    ...(sums.find((sum) => sum.bucket === bucket) ?? { bucket, rows: 0, sum: "0" }),
    notReady: present.filter((row) => row.notReady && row.digest.bucket === bucket).length,
  }));
}

/** The number of rows in each bucket, and the sum of their digests. */
export function sumsOf(digests: readonly TenantRow["digest"][]): BucketSum[] {
  const sums = new Map<number, { rows: number; sum: bigint }>();
  for (const { bucket, digest } of digests) {
    const { rows, sum } = sums.get(bucket) ?? { rows: 0, sum: 0n };
    sums.set(bucket, { rows: rows + 1, sum: sum + BigInt(digest) });
  }
  return [...sums].map(([bucket, { rows, sum }]) => ({ bucket, rows, sum: String(sum) }));
}

/** Null ids come first. */
const bytesOf = (id: Cell | undefined): Buffer => Buffer.from(typeof id === "string" ? id : "");
