import { isDue, waitAfterFailures } from "../core/backoff.ts";
import { tokenFingerprint } from "../core/group.ts";
import { intendsRemoval } from "../core/ledger-group.ts";
import type { Failure } from "../core/outcome.ts";
import type { LedgerTransaction } from "../ports/ledger.ts";
import type { KnownToken } from "../ports/rotation.ts";
import { existingGroups } from "./existing-groups.ts";
import type { LeftUnderWay } from "./plan.ts";
import { NOT_ASKED } from "./rotation-failures.ts";
import type { Run } from "./run.ts";
import { ServiceCalls } from "./service-calls.ts";
import { sharedBy } from "./shared-tokens.ts";
import { tellFailure } from "./tell-failure.ts";
import { TokenKeeper } from "./token-keeper.ts";

/**
 * Asks for the live tokens of groups whose update or rotation is under way and which the run has left as they are, such
 * as one whose row is rejected by now: its tenant may be locked out. The GET sends what was confirmed last, and so also
 * settles what was begun. Those that failed wait for their time, unless they are named by the operator. Resolves to the
 * groups that are left, and have been reported. Rejects where the run has to end.
 */
export async function settleTokens(
  left: readonly LeftUnderWay[],
  { isEager }: { readonly isEager: boolean },
  run: Run,
): Promise<ReadonlySet<string>> {
  const unsettled = new Set<string>();
  const failures = new Map(left.map(({ user_group_id, failure }) => [user_group_id, failure]));
  if (failures.size === 0) return unsettled;
  // Some may have been settled since the plan was made: by a removal, for one.
  const stillLeft = existingGroups(run.ledger, { of: [...failures.keys()], underWay: "anything" });
  for await (const id of stillLeft) {
    if (run.signal.aborted) break;
    const failure = failures.get(id);
    const waits = failure && !isEager && !isDue(failure.retryAt, run.clock.now());
    if (waits) run.tally.waits(id, failure);
    if (waits || !(await settleToken(id, run))) unsettled.add(id);
  }
  return unsettled;
}

/** Resolves to false where it has failed, which is recorded and told. */
async function settleToken(id: string, run: Run): Promise<boolean> {
  const { ledger, lease, clock, tally, observe } = run;
  const known = await ledger.write(lease, (transaction) => transaction.beginRotation(id, clock.now()));
  const group = (await ledger.confirmed([id])).get(id);
  if (known === undefined || intendsRemoval(known.intent)) return true;
  if (group === undefined) return recordFailure(id, NOT_ASKED, known, run);
  const found = await new ServiceCalls(run, run.signal, known).getOrCreate(group);
  if (found.kind === "interrupted") return true;
  if (found.kind === "failed") return recordFailure(id, found.failure, known, run);

  const { token } = found.answer.group;
  const fingerprint = tokenFingerprint(token);
  const settled = { user_group_id: id, tokenFingerprint: fingerprint, failure: null, isOpen: false };
  const refusal = await new TokenKeeper(run).tryOnce({ user_group_id: id, token }, (transaction) =>
    transaction.recordRotation(settled, clock.now()),
  );
  if (refusal) return recordFailure(id, refusal, known, run, sharedBy(refusal, token));
  if (known.intent !== "rotate" || fingerprint === known.tokenFingerprint) return true;
  tally.counts.rotated++;
  observe({ kind: "rotated", user_group_id: id, token: fingerprint, formerToken: known.tokenFingerprint });
  return true;
}

async function recordFailure(
  id: string,
  { code, message }: Failure,
  known: KnownToken,
  run: Run,
  shared: ReturnType<typeof sharedBy> = {},
): Promise<false> {
  const { ledger, lease, clock } = run;
  const now = clock.now();
  const retryAt = new Date(now.getTime() + waitAfterFailures(known.failures + 1));
  const failure = { code, message, retryAt };
  const record = (transaction: LedgerTransaction): Promise<void> =>
    transaction.recordRotation(
      { user_group_id: id, tokenFingerprint: null, failure, ...shared, isOpen: true },
      now,
    );
  await ledger.write(lease, record);
  tellFailure(id, { code, message }, run);
  return false;
}
