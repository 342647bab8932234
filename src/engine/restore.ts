import { waitAfterFailures } from "../core/backoff.ts";
import type { Upsert } from "../core/change.ts";
import type { SyncError } from "../core/errors.ts";
import type { Failure } from "../core/outcome.ts";
import type { LedgerTransaction, StoredResult, VouchedOptions, VouchedToken } from "../ports/ledger.ts";
import type { StoredToken } from "../ports/token-store.ts";
import { applyChanges } from "./apply.ts";
import { patiently } from "./patient-tokens.ts";
import type { Run } from "./run.ts";

/** Looked at together: as many reads of each store, all of which are made again where its quota doesn't last. */
const BATCH = 250;
/** Written together: a transaction of the ledger is open meanwhile, and a secret store takes one at a time. */
const WRITTEN_TOGETHER = 64;

/**
 * Makes the token stores hold what the ledger vouches for: where one of them lacks a token it comes from another that
 * has it, and where none has it by a GET. Of those tokens that are meant, in batches.
 */
export async function restoreTokens(
  of: VouchedOptions["of"],
  run: Run,
  isMeant: (entry: VouchedToken) => boolean = () => true,
): Promise<void> {
  let after: string | undefined;
  while (!run.signal.aborted) {
    const vouched = await run.ledger.vouchedTokens({ limit: BATCH, after, of });
    if (vouched.length === 0) return;
    await restore(vouched.filter(isMeant), run);
    after = vouched.at(-1)?.user_group_id;
  }
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
  if (lost.length === 0) return;
  await noteLost(lost, run);
  await applyChanges(getsOf(lost), run);
}

/** Writes tokens that some store has to those that lack them, and notes which are everywhere: those, and `stored`. */
async function copy(
  found: readonly StoredToken[],
  stored: readonly VouchedToken[],
  known: ReadonlyMap<string, VouchedToken>,
  run: Run,
): Promise<void> {
  const { ledger, lease, tokens, clock, tally, observe } = run;
  if (found.length + stored.length === 0) return;
  const now = clock.now();
  const write = async (transaction: LedgerTransaction): Promise<ReadonlyMap<string, SyncError>> => {
    // The ledger refuses what comes too late; a token store elsewhere can't.
    const assertHeld = (): void => lease.assertHeld();
    assertHeld();
    const refusals = await tokens.write(found, transaction, { assertHeld });
    const results = [...found, ...stored].map(({ user_group_id }): StoredResult => {
      const refusal = refusals.get(user_group_id);
      const count = (known.get(user_group_id)?.failure?.count ?? 0) + 1;
      return { user_group_id, failure: refusal ? failureOf(refusal, count, now) : null };
    });
    await transaction.recordStored(results, now);
    return refusals;
  };
  const refused = await patiently(() => ledger.write(lease, write), run);
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

/** Else nobody would ask for it again where the GET fails: the group is as it should be. */
async function noteLost(lost: readonly VouchedToken[], { ledger, lease, clock }: Run): Promise<void> {
  const now = clock.now();
  const results = lost
    .filter(({ failure }) => failure === null)
    .map(({ user_group_id }) => ({ user_group_id, failure: { ...LOST, count: 1, retryAt: now } }));
  if (results.length === 0) return;
  await ledger.write(lease, (transaction) => transaction.recordStored(results, now));
}

const LOST: Failure = { code: "TOKEN_NOT_EVERYWHERE", message: "no store has its token" };

const failureOf = ({ code, message }: SyncError, count: number, now: Date) => ({
  code,
  message,
  count,
  retryAt: new Date(now.getTime() + waitAfterFailures(count)),
});

/** As the service last confirmed them: nothing but the token is asked for. */
async function* getsOf(lost: readonly VouchedToken[]): AsyncGenerator<Upsert> {
  for (const { user_group_id, group, fingerprint, row, dataSourceId } of lost) {
    yield { kind: "update", user_group_id, group, fingerprint, row, dataSourceId, underWay: false };
  }
}
