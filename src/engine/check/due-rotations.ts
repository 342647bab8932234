import { isDue } from "../../core/failure/backoff.ts";
import type { DueTokens } from "../../core/record/candidates.ts";
import {
  dueBefore,
  mayStart,
  type RotationCandidate,
  type RotationPolicy,
} from "../../core/rotation/rotation-policy.ts";
import type { GroupReads } from "../../ports/ledger/groups.ts";
import { rotationCandidates } from "../plan/candidate-pages.ts";

/** Tokens that are wanted anew or older than `rotation.max_age`, and which of them a sync would rotate now. */
export interface DueRotations {
  readonly total: number;
  /** How many a sync would rotate. Beyond the first thousand, groups that wait for their next try count too. */
  readonly count: number;
  /** The tokens to rotate: those that are wanted first, and then the oldest; at most a thousand of each. */
  readonly next: readonly RotationCandidate[];
  /** Groups whose last rotation failed and whose next try is not due yet, at most a thousand. */
  readonly waiting: readonly FailedRotation[];
}

export type FailedRotation = RotationCandidate & {
  readonly failure: NonNullable<RotationCandidate["failure"]>;
};

const SHOWN_ROTATIONS = 1_000;

/** `only`: those of a sync of these tenants, which waits for no next try, and rotates no token because of its age. */
export async function dueRotations(
  ledger: Pick<GroupReads, "candidates" | "sums">,
  policy: RotationPolicy,
  now: Date,
  only?: ReadonlySet<string>,
): Promise<DueRotations> {
  const of = only && [...only];
  const due = only ? null : dueBefore(policy, now);
  const wanted = await rotationsOf(ledger, { due: "wanted", of }, null, now);
  const total = (await ledger.sums({ kind: "existing", isWanted: true, of })).counts.total;
  if (due === null) return { ...wanted, total };
  const aged = await rotationsOf(ledger, { due }, mayStart(policy, now) ? policy.maxPerRun : 0, now);
  return {
    total: total + aged.total,
    count: wanted.count + aged.count,
    next: [...wanted.next, ...aged.next],
    waiting: [...wanted.waiting, ...aged.waiting],
  };
}

/** `most`: the most that a sync rotates of them; null: all. */
async function rotationsOf(
  ledger: Pick<GroupReads, "candidates" | "sums">,
  which: DueTokens,
  most: number | null,
  now: Date,
): Promise<DueRotations> {
  const total = (await ledger.sums({ kind: "rotatable", ...which })).counts.total;
  if (total === 0 || most === 0) return { total, count: 0, next: [], waiting: [] };

  const next: RotationCandidate[] = [];
  const waiting: FailedRotation[] = [];
  for await (const candidate of rotationCandidates(ledger, which)) {
    if (next.length === Math.min(most ?? total, SHOWN_ROTATIONS) || waiting.length === SHOWN_ROTATIONS) break;
    if (which.of === undefined && isWaiting(candidate, now)) waiting.push(candidate);
    else next.push(candidate);
  }
  return { total, count: Math.min(most ?? total, total - waiting.length), next, waiting };
}

const isWaiting = (candidate: RotationCandidate, now: Date): candidate is FailedRotation =>
  !isDue(candidate.failure, now);
