import type { LedgerGroup } from "../../core/group/ledger-group.ts";
import type { TenantRow } from "../../core/group/tenant.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { TenantSnapshot } from "../../ports/tenant-source.ts";
import type { ChangedBucket } from "./changed-buckets.ts";
import { inOneBatch } from "./read-tenants.ts";

/** The contents of some buckets, or of all, on both sides: in batches, ordered by id. */
interface BucketContents {
  readonly rows: AsyncIterable<readonly TenantRow[]>;
  readonly groups: AsyncIterable<readonly LedgerGroup[]>;
  /** How many rows that are not ready, and have no group, are in the buckets beside `rows`. */
  readonly notReady: number;
}

type Snapshot = Pick<TenantSnapshot, "rows" | "isIndexed" | "rowsOf">;
type Ledger = Pick<LedgerView, "groups" | "rejections">;

/** So many ids are looked up in any case. */
const FEW = 100;
/** Of more, at most one for so many rows that need not be read: an id by an index costs about as much as they do. */
const ROWS_FOR_AN_ID = 100;
/** Rows and groups of these ids are in memory: about as many as when buckets are read in batches. */
const MOST = 5_000;

/**
 * Reads the changed buckets, or all if they are undefined. Few rows are looked up by the ids that the ledger knows in these
 * buckets, because to find the rows of a bucket the database has to compute the bucket of each row.
 */
export async function readBuckets(
  snapshot: Snapshot,
  ledger: Ledger,
  changed: readonly ChangedBucket[] | undefined,
  unchanged: number,
): Promise<BucketContents> {
  if (changed && mayKnowAll(changed, unchanged)) {
    const found = await lookUp(snapshot, ledger, changed);
    if (found) return found;
  }
  const buckets = changed?.map(({ bucket }) => bucket);
  return { rows: snapshot.rows(buckets), groups: ledger.groups(buckets), notReady: 0 };
}

/** Whether the ids that the ledger knows may be all, and are few enough to be looked up. */
function mayKnowAll(changed: readonly ChangedBucket[], unchanged: number): boolean {
  const ids = changed.reduce((sum, { known }) => sum + known, 0);
  const isFew = ids <= FEW || ids * ROWS_FOR_AN_ID <= unchanged;
  return isFew && ids <= MOST && changed.every(({ rows, known }) => rows <= known);
}

/** Undefined if no index finds an id, and if the buckets have rows whose ids the ledger doesn't know. */
async function lookUp(
  snapshot: Snapshot,
  ledger: Ledger,
  changed: readonly ChangedBucket[],
): Promise<BucketContents | undefined> {
  if (!(await snapshot.isIndexed())) return undefined;
  const missing = new Map(changed.map(({ bucket, rows }) => [bucket, rows]));
  const groups: LedgerGroup[] = [];
  for await (const batch of ledger.groups([...missing.keys()])) groups.push(...batch);
  const rejected = (await ledger.rejections()).filter(({ bucket }) => missing.has(bucket));
  const ids = [...groups, ...rejected].flatMap(({ user_group_id }) => user_group_id ?? []);

  const rows = await snapshot.rowsOf(ids);
  let notReady = changed.reduce((sum, bucket) => sum + bucket.notReady, 0);
  for (const { digest, removed, notReady: waits } of rows) {
    const { bucket } = digest;
    if (waits) notReady--;
    else if (!removed) missing.set(bucket, (missing.get(bucket) ?? 0) - 1);
  }
  // The snapshot has counted these rows itself, so the same number of them is all of them.
  const isAll = [...missing.values()].every((count) => count === 0);
  return isAll ? { rows: inOneBatch(rows), groups: inOneBatch(groups), notReady } : undefined;
}
