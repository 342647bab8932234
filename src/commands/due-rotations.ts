import { dueBefore, mayStart, type RotationCandidate, type RotationPolicy } from "../core/rotation.ts";
import type { LedgerView } from "../ports/ledger.ts";

/** Tokens that are older than `rotation.max_age`. */
export interface DueRotations {
  readonly count: number;
  /** Those that a sync would rotate now: none outside of `rotation.window`. */
  readonly now: readonly RotationCandidate[];
}

/** Enough to see what is coming. */
const SHOWN = 1_000;

export async function dueRotations(
  ledger: LedgerView,
  policy: RotationPolicy,
  now: Date,
): Promise<DueRotations> {
  const until = dueBefore(policy, now);
  if (until === null) return { count: 0, now: [] };
  const limit = mayStart(policy, now) ? Math.min(SHOWN, policy.maxPerRun ?? SHOWN) : 0;
  const oldest = await ledger.rotatable({ until, limit });
  return {
    count: await ledger.rotatableCount(until),
    now: oldest.filter(({ failure }) => failure === null || failure.retryAt <= now),
  };
}
