import { isDue } from "../../core/failure/backoff.ts";
import type { Failure } from "../../core/failure/sync-error.ts";
import { tokenFingerprint } from "../../core/group/group.ts";
import { intendsRemoval } from "../../core/group/ledger-group.ts";
import { type RotationEnd, type StoringEnd, storingFailed } from "../../core/record/next.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { LedgerWriting } from "../lease/lease.ts";
import { type Locks, withLock } from "../lease/tenant-locks.ts";
import type { LeftUnderWay } from "../plan/plan.ts";
import { type Reporting, reportFailure } from "../report/tally.ts";
import { type ServiceCalling, ServiceCalls } from "../service/service-calls.ts";
import type { TokenWriting } from "../tokens/retry-batch.ts";
import { sharedBy } from "../tokens/shared-tokens.ts";
import { LiveTokenWriter } from "./live-token-writer.ts";
import { existingGroups } from "./rotation-selection.ts";

/**
 * Settles rotations and updates that an earlier run left under way and that this run's plan doesn't continue, for example
 * because the row is rejected now. The stored token may be dead, so a GET asks for the live token. The GET sends the group
 * as the service last confirmed it, which settles the update as well. Groups that failed wait until their next try is due,
 * unless `isEager`: the operator named them. Resolves to the groups that stay under way; they have been reported.
 * Rejects if the run has to end.
 */
export async function settleRotations(
  left: readonly LeftUnderWay[],
  { isEager }: { readonly isEager: boolean },
  run: ServiceCalling & TokenWriting & { readonly locks: Locks },
): Promise<ReadonlySet<string>> {
  const unsettled = new Set<string>();
  const failures = new Map(left.map(({ user_group_id, failure }) => [user_group_id, failure]));
  if (failures.size === 0) return unsettled;
  // Some may have been settled since the plan was made, for example by a removal.
  const stillLeft = existingGroups(run.ledger, { of: [...failures.keys()], underWay: "anything" });
  for await (const id of stillLeft) {
    if (run.signal.aborted) break;
    const failure = failures.get(id);
    const waits = failure && !isEager && !isDue(failure.retryAt, run.clock.now());
    if (waits || !(await withLock(run.locks, [id], () => settleToken(id, run)))) unsettled.add(id);
  }
  return unsettled;
}

/** Resolves to false if it failed; the failure is recorded and reported. */
async function settleToken(id: string, run: ServiceCalling & TokenWriting): Promise<boolean> {
  const { ledger, lease, clock, tally, observe } = run;
  const before = await ledger.write(lease, (transaction) =>
    transaction.change([{ kind: "rotation_begun", user_group_id: id }], clock.now()),
  );
  const known = before.get(id);
  if (known === undefined || intendsRemoval(known.intent)) return true;
  if (known.confirmed === null) return recordFailure(id, NOT_ASKED, known, run);
  const calls = new ServiceCalls(run, run.signal, known);
  const found = await calls.getOrCreate(known.confirmed);
  if (found.kind === "interrupted") return true;
  if (found.kind === "failed") {
    await recordFailure(id, found.failure, known, run);
    calls.endRunIfDue();
    return false;
  }

  const { isNew, group: told } = found.answer;
  const { token } = told;
  const fingerprint = tokenFingerprint(token);
  const end: RotationEnd = { tokenFingerprint: fingerprint, failure: null, isNew, isOpen: false };
  const refusal = await new LiveTokenWriter(run).tryOnce({ user_group_id: id, token }, (transaction) =>
    transaction.change([{ kind: "rotation_ended", user_group_id: id, ...end }], clock.now()),
  );
  if (refusal) return recordFailure(id, refusal, known, run, sharedBy(refusal, token));
  const isLeft = known.wantedSince !== null && !isNew;
  if (known.intent !== "rotate" || fingerprint === known.tokenFingerprint || isLeft) return true;
  tally.counts.rotated++;
  observe({
    kind: "rotated",
    user_group_id: id,
    tokenFingerprint: fingerprint,
    formerTokenFingerprint: known.tokenFingerprint,
  });
  return true;
}

/** Records the failure as one of storing: whatever has failed, the live token may not be stored. */
async function recordFailure(
  id: string,
  failure: Failure,
  known: GroupRecord,
  run: LedgerWriting & Reporting,
  shared: Pick<StoringEnd, "sharedToken"> = {},
): Promise<false> {
  const { ledger, lease, clock } = run;
  const now = clock.now();
  const failed = storingFailed(id, known.failures.storing, failure, now);
  await ledger.write(lease, (transaction) => transaction.change([{ ...failed, ...shared }], now));
  reportFailure(id, failure, run);
  return false;
}

/** The failure of a group that a sync left under way and can't settle by a GET. */
const NOT_ASKED: Failure = {
  code: "UNSETTLED",
  message:
    "an earlier run left a change of this group under way, so its token may not be stored; a GET could change the group, because its full state is not known, and its row is rejected or gone: correct the row, or have the group deleted",
};
