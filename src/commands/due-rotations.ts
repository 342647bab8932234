import { dueBefore, mayStart, type RotationCandidate, type RotationPolicy } from "../core/rotation.ts";
import { rotationCandidates } from "../engine/rotation-candidates.ts";
import type { LedgerView } from "../ports/ledger.ts";

/** Tokens that are older than `rotation.max_age`, and what a sync would make of them now. */
export interface DueRotations {
  readonly total: number;
  /** How many it would rotate. Of more than a thousand, those that wait may be among them. */
  readonly count: number;
  /** The oldest of these, a thousand at most. */
  readonly next: readonly RotationCandidate[];
  /** Those whose last rotation failed, and whose next try is not due yet; a thousand at most. */
  readonly waiting: readonly FailedRotation[];
  /** False outside of `rotation.window`. */
  readonly isTime: boolean;
}

export type FailedRotation = RotationCandidate & {
  readonly failure: NonNullable<RotationCandidate["failure"]>;
};

/** Enough to see what is coming. */
const SHOWN = 1_000;

export async function dueRotations(
  ledger: LedgerView,
  policy: RotationPolicy,
  now: Date,
): Promise<DueRotations> {
  const isTime = mayStart(policy, now);
  const until = dueBefore(policy, now);
  const total = until === null ? 0 : await ledger.rotatableCount(until);
  if (until === null || !isTime) return { total, count: 0, next: [], waiting: [], isTime };

  const most = policy.maxPerRun ?? total;
  const next: RotationCandidate[] = [];
  const waiting: FailedRotation[] = [];
  for await (const candidate of rotationCandidates(ledger, until)) {
    if (next.length === Math.min(most, SHOWN) || waiting.length === SHOWN) break;
    if (isWaiting(candidate, now)) waiting.push(candidate);
    else next.push(candidate);
  }
  return { total, count: Math.min(most, total - waiting.length), next, waiting, isTime };
}

const isWaiting = (candidate: RotationCandidate, now: Date): candidate is FailedRotation =>
  candidate.failure !== null && candidate.failure.retryAt > now;
