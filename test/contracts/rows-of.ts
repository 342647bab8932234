import type { Cell, SourceBucket, TenantRow } from "../../src/core/group/tenant.ts";
import type { TenantSource } from "../../src/ports/tenant-source.ts";
import { collect } from "./collect.ts";

/** Nobody tells these reads to stop. */
export const NEVER = new AbortController().signal;

/** The batches of cells of one whole read, in a snapshot of its own. */
export async function* batchesOf(
  source: TenantSource,
  columns: readonly string[],
): AsyncGenerator<readonly (readonly Cell[])[]> {
  const snapshot = await source.open(columns, "seed", NEVER);
  try {
    for await (const rows of snapshot.rows()) yield rows.map((row) => row.cells);
  } finally {
    await snapshot.close();
  }
}

/** The cells of all rows of one read. */
export async function rowsOf(source: TenantSource, columns: readonly string[]): Promise<(readonly Cell[])[]> {
  const all: (readonly Cell[])[] = [];
  for await (const batch of batchesOf(source, columns)) all.push(...batch);
  return all;
}

/** All that one snapshot has to tell. */
export async function readAll(
  source: TenantSource,
  columns: readonly string[],
  seed = "seed",
): Promise<{ buckets: readonly SourceBucket[]; rows: readonly TenantRow[] }> {
  const snapshot = await source.open(columns, seed, NEVER);
  try {
    return { buckets: await snapshot.buckets(), rows: await collect(snapshot.rows()) };
  } finally {
    await snapshot.close();
  }
}
