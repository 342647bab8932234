import type { DecisionContext } from "../core/decide.ts";
import { BUCKETS } from "../core/tenant.ts";
import type { LedgerView } from "../ports/ledger.ts";
import type { TenantSnapshot } from "../ports/tenant-source.ts";

export interface Suspects {
  /** The buckets that may hold a difference; undefined where it is best to read them all. */
  readonly buckets: readonly number[] | undefined;
  /** Groups in all other buckets: their rows are those that the ledger has recorded. */
  readonly unchanged: number;
}

/** From here on, reading everything in one go costs the database less than picking. */
const TOO_MANY = BUCKETS / 4;

/**
 * Finds where the source and the ledger differ by comparing sums of row digests, bucket by bucket, as replicas
 * of a database do before they repair each other. A bucket is beyond suspicion only if it has the same number
 * of rows with the same sum on both sides, and no group in it is waiting for anything.
 */
export async function findSuspects(
  snapshot: Pick<TenantSnapshot, "buckets">,
  ledger: Pick<LedgerView, "buckets">,
  { serviceUpdates }: Pick<DecisionContext, "serviceUpdates">,
): Promise<Suspects> {
  const [ours, theirs] = await Promise.all([
    ledger.buckets({ unverifiedAtRest: serviceUpdates !== false }),
    snapshot.buckets(),
  ]);
  const open = new Map(ours.map((bucket) => [bucket.bucket, bucket]));
  const suspects: number[] = [];
  let unchanged = 0;
  for (const { bucket, rows, sum } of theirs) {
    const known = open.get(bucket);
    open.delete(bucket);
    if (known && known.restless === 0 && known.rows === rows && known.sum === sum) unchanged += rows;
    else suspects.push(bucket);
  }
  suspects.push(...open.keys());
  return suspects.length > TOO_MANY ? { buckets: undefined, unchanged: 0 } : { buckets: suspects, unchanged };
}
