import { BUCKETS, type SourceBucket } from "../../core/group/tenant.ts";
import type { PlanningContext } from "../../core/record/decide.ts";
import type { GroupReads, LedgerBucket } from "../../ports/ledger/groups.ts";
import type { TenantSnapshot } from "../../ports/tenant-source.ts";

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
