import type { LedgerGroup } from "../../core/group/ledger-group.ts";
import { BUCKETS, type SourceBucket, type TenantRow } from "../../core/group/tenant.ts";
import type { PlanningContext } from "../../core/record/decide.ts";
import type { GroupReads, LedgerBucket } from "../../ports/ledger/groups.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { TenantSnapshot } from "../../ports/tenant-source.ts";
import { inOneBatch } from "./read-tenants.ts";

/** A bucket that may hold a difference, as the source has it. */
export interface ChangedBucket extends SourceBucket {
  /** How many groups and rejected rows the ledger has in it. */
  readonly known: number;
}

interface ChangedBuckets {
  /** Undefined if all buckets have to be read. */
  readonly changed: readonly ChangedBucket[] | undefined;
  /** How many rows the other buckets have. These rows equal what the ledger has recorded. */
  readonly unchanged: number;
  /** How many rows of the other buckets are not ready. */
  readonly notReady: number;
  /** How many groups owe something, whatever their bucket. */
  readonly owing: number;
}

const NO_GROUPS = { rows: 0, sum: "0", dirty: 0 };

/** All buckets have to be read. */
export const ALL_BUCKETS: ChangedBuckets = { changed: undefined, unchanged: 0, notReady: 0, owing: 0 };

/** With more changed buckets than this, one read of everything costs the database less. */
const TOO_MANY = BUCKETS / 4;

/**
 * Finds the buckets in which the source and the ledger may differ. Compares the sums of row digests bucket by bucket, as
 * database replicas do before a repair. A bucket is unchanged only if both sides have the same number of rows with the same
 * sum, and none of its groups is under way, failing or gone. Rows that are not ready are only counted, so they cost
 * nothing unless they have groups.
 */
export async function findChangedBuckets(
  snapshot: Pick<TenantSnapshot, "buckets">,
  ledger: Pick<GroupReads, "buckets">,
  { serviceUpdates }: Pick<PlanningContext, "serviceUpdates">,
): Promise<ChangedBuckets> {
  const [ours, theirs] = await Promise.all([
    ledger.buckets({ unverifiedAtRest: serviceUpdates !== false }),
    snapshot.buckets(),
  ]);
  const unmatched = new Map(ours.map((bucket) => [bucket.bucket, bucket]));
  const changed: ChangedBucket[] = [];
  let unchanged = 0;
  let waiting = 0;
  for (const their of theirs) {
    const { bucket, rows, sum, notReady } = their;
    const our = unmatched.get(bucket) ?? NO_GROUPS;
    unmatched.delete(bucket);
    if (our.dirty === 0 && our.rows === rows && our.sum === sum) {
      unchanged += rows;
      waiting += notReady;
    } else changed.push({ ...their, known: knownIn(our) });
  }
  for (const [bucket, our] of unmatched)
    changed.push({ bucket, rows: 0, sum: "0", notReady: 0, known: knownIn(our) });
  const owing = ours.reduce((sum, bucket) => sum + bucket.owing, 0);
  return changed.length > TOO_MANY
    ? { ...ALL_BUCKETS, owing }
    : { changed, unchanged, notReady: waiting, owing };
}

const knownIn = ({ rows, dirty }: Pick<LedgerBucket, "rows" | "dirty">): number => rows + dirty;

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
