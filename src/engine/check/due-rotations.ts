import {
  dueBefore,
  mayStart,
  type RotationCandidate,
  type RotationPolicy,
} from "../../core/rotation/rotation-policy.ts";
import type { RotationReads } from "../../ports/ledger/groups.ts";
import { rotationCandidates } from "../rotation/rotation-selection.ts";

/** Tokens that are older than `rotation.max_age`, and which of them a sync would rotate now. */
export interface DueRotations {
  readonly total: number;
  /** How many a sync would rotate. Beyond the first thousand, groups that wait for their next try count too. */
  readonly count: number;
  /** The tokens to rotate, oldest first, at most a thousand. */
  readonly next: readonly RotationCandidate[];
  /** Groups whose last rotation failed and whose next try is not due yet, at most a thousand. */
  readonly waiting: readonly FailedRotation[];
  /** Whether it is within `rotation.window` now. */
  readonly isTime: boolean;
}

export type FailedRotation = RotationCandidate & {
  readonly failure: NonNullable<RotationCandidate["failure"]>;
};

/** A sync of some tenants rotates none. */
export const NO_ROTATIONS: DueRotations = { total: 0, count: 0, next: [], waiting: [], isTime: true };

const SHOWN_ROTATIONS = 1_000;

export async function dueRotations(
  ledger: RotationReads,
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
    if (next.length === Math.min(most, SHOWN_ROTATIONS) || waiting.length === SHOWN_ROTATIONS) break;
    if (isWaiting(candidate, now)) waiting.push(candidate);
    else next.push(candidate);
  }
  return { total, count: Math.min(most, total - waiting.length), next, waiting, isTime };
}

const isWaiting = (candidate: RotationCandidate, now: Date): candidate is FailedRotation =>
  candidate.failure !== null && candidate.failure.retryAt > now;
