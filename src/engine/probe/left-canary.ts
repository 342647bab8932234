import { SyncError } from "../../core/failure/sync-error.ts";
import type { Canary } from "../../ports/ledger/service.ts";
import { type ServiceCalling, ServiceCalls } from "../service/service-calls.ts";
import { deleteCanary } from "./delete-canary.ts";

interface Run extends ServiceCalling {
  /** Aborts when the run has to end. */
  readonly signal: AbortSignal;
}

/**
 * Deletes the canary that an earlier probe has left at the service, because it was killed or its DELETE failed. Resolves to
 * CANARY_REMAINS if the service still has the canary. Rejects if the run has to end.
 */
export async function deleteLeftCanary(
  run: Run,
  { baseUrl }: { readonly baseUrl: string },
): Promise<SyncError | undefined> {
  const { ledger, lease, signal } = run;
  const canary = await ledger.canary();
  if (canary === null || signal.aborted) return undefined;
  if (canary.baseUrl !== baseUrl) return isElsewhere(canary);
  const { user_group_id } = canary;
  // A tenant has this id by now, so the group is the tenant's.
  if ((await ledger.of([user_group_id])).length === 0) {
    // A call of the probe may still be under way.
    const calls = new ServiceCalls(run, signal, { intent: "apply", tokenFingerprint: null });
    const { isGone, failure } = await deleteCanary(user_group_id, calls);
    if (!isGone) return remains(user_group_id, failure?.message);
  }
  await ledger.write(lease, (transaction) => transaction.forgetCanary());
  return undefined;
}

/** A sync's last step before rotations. A canary is nobody's group: if it can't be deleted, the sync is none the worse. */
export async function deleteCanaryOrWarn(run: Run, at: { readonly baseUrl: string }): Promise<void> {
  const left = await deleteLeftCanary(run, at);
  if (left === undefined) return;
  const { code, message, hint = "" } = left;
  run.observe({ kind: "warning", code, message, hint });
}

/** The error of a canary that could not be deleted. `reason` is why nobody can tell; without it, no DELETE got through. */
export const remains = (id: string, reason = "the service takes no DELETE for it"): SyncError =>
  new SyncError("CANARY_REMAINS", `the service still has the canary of a probe, ${id}: ${reason}`, {
    hint: `every sync and every probe tries again to delete it. If you delete it by hand, run groupsync probe --forget ${id} afterwards: otherwise the next try makes it anew`,
  });

const isElsewhere = ({ user_group_id: id, baseUrl }: Canary): SyncError =>
  new SyncError("CANARY_REMAINS", `a probe has left its canary, ${id}, at ${baseUrl}`, {
    hint: `run groupsync probe with service.base_url: ${baseUrl}, which deletes it; or delete it by hand, and run groupsync probe --forget ${id}`,
  });
