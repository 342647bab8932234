import { isDue, waitAfterFailures } from "../core/backoff.ts";
import type { Upsert } from "../core/change.ts";
import type { SyncError } from "../core/errors.ts";
import type { StoredResult, VouchedToken } from "../ports/ledger.ts";
import type { StoredToken } from "../ports/token-store.ts";
import { applyChanges } from "./apply.ts";
import type { Run } from "./run.ts";

/** Looked at together: as many reads of each store. */
const BATCH = 1_000;
/** Written together: a transaction of the ledger is open meanwhile, and a secret store takes one at a time. */
const WRITTEN_TOGETHER = 64;

/**
 * Makes the token stores hold what the ledger vouches for: where one of them lacks a token it comes from another that
 * has it, and where none has it by a GET. Of the tokens that are known not to be everywhere or, to verify them, of all.
 */
export async function restoreTokens({ all }: { readonly all: boolean }, run: Run): Promise<void> {
  let after: string | undefined;
  while (!run.signal.aborted) {
    const vouched = await run.ledger.vouchedTokens({ limit: BATCH, after, notEverywhere: !all });
    if (vouched.length === 0) return;
    await restore(all ? vouched : vouched.filter((entry) => isItsTurn(entry, run)), run);
    after = vouched.at(-1)?.user_group_id;
  }
}

/** One that isn't is reported all the same: its tenant may be locked out somewhere. */
function isItsTurn({ user_group_id, failure }: VouchedToken, { clock, tally }: Run): boolean {
  if (failure === null || isDue(failure.retryAt, clock.now())) return true;
  const { code, message, retryAt } = failure;
  tally.counts.failed++;
  tally.report(user_group_id, { code, message: `${message} (next try after ${retryAt.toISOString()})` });
  return false;
}

async function restore(vouched: readonly VouchedToken[], run: Run): Promise<void> {
  if (vouched.length === 0) return;
  const expected = new Map(
    vouched.map(({ user_group_id, tokenFingerprint }) => [user_group_id, tokenFingerprint]),
  );
  const lagging = await run.tokens.lagging(expected);
  const found = [...lagging].flatMap(([user_group_id, token]) => (token ? [{ user_group_id, token }] : []));
  const isStored = ({ user_group_id, failure }: VouchedToken): boolean =>
    failure !== null && !lagging.has(user_group_id);
  const known = new Map(vouched.map((entry) => [entry.user_group_id, entry]));
  for (let from = 0; from < found.length && !run.signal.aborted; from += WRITTEN_TOGETHER)
    await copy(found.slice(from, from + WRITTEN_TOGETHER), [], known, run);
  await copy([], vouched.filter(isStored), known, run);
  const lost = vouched.filter(({ user_group_id }) => lagging.get(user_group_id) === null);
  if (lost.length > 0) await applyChanges(getsOf(lost), run);
}

/** Writes tokens that some store has to those that lack them, and notes which are everywhere: those, and `stored`. */
async function copy(
  found: readonly StoredToken[],
  stored: readonly VouchedToken[],
  known: ReadonlyMap<string, VouchedToken>,
  { ledger, lease, tokens, clock, tally, observe }: Run,
): Promise<void> {
  if (found.length + stored.length === 0) return;
  const now = clock.now();
  const refused = await ledger.write(lease, async (transaction) => {
    // The ledger refuses what comes too late; a token store elsewhere can't.
    const assertHeld = (): void => lease.assertHeld();
    assertHeld();
    const refusals = await tokens.write(found, transaction, { assertHeld });
    const results = [...found, ...stored].map(({ user_group_id }): StoredResult => {
      const refusal = refusals.get(user_group_id);
      const failures = known.get(user_group_id)?.failure?.count ?? 0;
      return { user_group_id, failure: refusal ? failureOf(refusal, failures, now) : null };
    });
    await transaction.recordStored(results, now);
    return refusals;
  });
  for (const { user_group_id } of found) {
    const refusal = refused.get(user_group_id);
    if (refusal) {
      const { code, message } = refusal;
      tally.counts.failed++;
      tally.report(user_group_id, { code, message });
      observe({ kind: "failed", user_group_id, code, message });
    } else {
      tally.counts.restored++;
      observe({ kind: "restored", user_group_id });
    }
  }
}

const failureOf = ({ code, message }: SyncError, failures: number, now: Date) => ({
  code,
  message,
  retryAt: new Date(now.getTime() + waitAfterFailures(failures + 1)),
});

/** As the service last confirmed them: nothing but the token is asked for. */
async function* getsOf(lost: readonly VouchedToken[]): AsyncGenerator<Upsert> {
  for (const { user_group_id, group, fingerprint, row, dataSourceId } of lost) {
    yield { kind: "update", user_group_id, group, fingerprint, row, dataSourceId, underWay: false };
  }
}
