import { allEnded } from "../../core/failure/all-ended.ts";
import type { SyncError } from "../../core/failure/sync-error.ts";
import type { EventOf } from "../../core/record/next.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import { type Refusals, refusalsIn } from "../../core/tokens/token-copies.ts";
import type { LedgerTransaction } from "../../ports/ledger/ledger.ts";
import type { StoredToken, TokenStore, WriteOptions } from "../../ports/token-store.ts";
import type { HeldLease } from "../lease/lease.ts";
import type { TokenWriting } from "./token-writing.ts";

interface Storing {
  readonly tokens: TokenStore;
  readonly lease: Pick<HeldLease, "assertHeld">;
  /** Once it aborts, a failed change is not repeated. */
  readonly signal: AbortSignal;
}

/**
 * Stores tokens outside of the ledger's database. Call this with no transaction open, and `storeInTables` in the transaction that
 * records the tokens. Rejects once all calls have ended, if a store is unavailable or the lease may be lost.
 */
export async function storeOutside(
  live: readonly StoredToken[],
  { tokens: { outside }, lease, signal }: Storing,
  options?: WriteOptions,
): Promise<Refusals> {
  const change = { ...options, assertHeld: () => lease.assertHeld(), signal };
  if (!outside) return new Map();
  const answers = await allEnded(live.map((token) => outside.put(token, change)));
  return refusalsOf(
    live.map(({ user_group_id }) => user_group_id),
    answers,
  );
}

/** Removes tokens outside of the ledger's database. Call it as `storeOutside`, and then `removeFromTables`. */
export async function removeOutside(
  ids: readonly string[],
  { tokens: { outside }, lease, signal }: Storing,
): Promise<Refusals> {
  const change = { assertHeld: () => lease.assertHeld(), signal };
  if (!outside) return new Map();
  return refusalsOf(ids, await allEnded(ids.map((id) => outside.drop(id, change))));
}

/** Stores tokens in the ledger's database. Resolves to why tokens are not in every store; `refused` is what `storeOutside` said. */
export async function storeInTables(
  live: readonly StoredToken[],
  refused: Refusals,
  transaction: LedgerTransaction,
  { tokens: { outside, tables } }: Pick<Storing, "tokens">,
  options?: WriteOptions,
): Promise<Refusals> {
  const ids = live.map(({ user_group_id }) => user_group_id);
  if (!tables || ids.length === 0) return refusalsIn(ids, [refused]);
  const within = await tables.write(live, transaction, options);
  return refusalsIn(ids, outside ? [refused, within] : [within]);
}

/** Removes tokens in the ledger's database. Resolves to why tokens are still in a store. */
export async function removeFromTables(
  ids: readonly string[],
  refused: Refusals,
  transaction: LedgerTransaction,
  { tokens: { tables } }: Pick<Storing, "tokens">,
): Promise<Refusals> {
  if (!tables || ids.length === 0) return refused;
  return new Map([...(await tables.remove(ids, transaction)), ...refused]);
}

const refusalsOf = (ids: readonly string[], answers: readonly (SyncError | undefined)[]): Refusals =>
  new Map(
    ids.flatMap((id, index) => {
      const refusal = answers[index];
      return refusal ? [[id, refusal] as const] : [];
    }),
  );

const MESSAGE =
  "a process died that may have been storing a token of this group; the stored copies are checked once its requests have ended";

/**
 * What to record beside the outcome of a call. If a process died during an earlier call for the group, its request to a store
 * outside of the ledger's database may still take effect, and put an older token there. So the copies have to be checked later.
 * `before` is the record from before this run's call.
 */
export function copiesUnsure(
  before: Pick<GroupRecord, "user_group_id" | "intent"> | null,
  { tokens, clock, lease: { unsureUntil } }: Pick<TokenWriting, "tokens" | "clock" | "lease">,
): EventOf[] {
  if (!before || before.intent === null || !tokens.outside || unsureUntil === null) return [];
  const retryAt = new Date(clock.now().getTime() + unsureUntil - clock.monotonic());
  const failure = { code: "TOKEN_UNSURE", message: MESSAGE, count: 1, retryAt };
  return [{ kind: "storing_ended", user_group_id: before.user_group_id, failure }];
}

/** Whether a process that died may have been storing a token of the group. */
export const areUnsure = ({ failures: { storing } }: Pick<GroupRecord, "failures">): boolean =>
  storing?.code === "TOKEN_UNSURE";
