import { SyncError } from "../../core/failure/sync-error.ts";
import type { Observe } from "../../ports/observer.ts";
import type { TokenStore } from "../../ports/token-store.ts";
import type { LedgerWriting } from "../lease/lease.ts";

/**
 * Does `work` with all items in one transaction. If that fails because one item made the transaction fail, does `work` with each
 * half, down to single items.
 */
export async function retryInHalves<Item>(
  items: readonly Item[],
  work: (batch: readonly Item[]) => Promise<void>,
): Promise<void> {
  if (items.length <= 1) return work(items);
  try {
    return await work(items);
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  const half = Math.ceil(items.length / 2);
  await retryInHalves(items.slice(0, half), work);
  await retryInHalves(items.slice(half), work);
}

/** Whether one token made the transaction fail. The error doesn't say which token of the batch. */
export const isRefusal = (error: unknown): error is SyncError =>
  error instanceof SyncError && (error.code === "TOKEN_NOT_STORED" || error.code === "TOKEN_NOT_REMOVED");

/** What a step needs to store tokens, and to record in the ledger that they are stored. */
export interface TokenWriting extends LedgerWriting {
  readonly tokens: TokenStore;
  readonly observe: Observe;
  /**
   * Which group's token is being stored outside of the ledger's database, or after a rotation, by the token's fingerprint: the
   * ledger doesn't know that yet. All who store a token look into it.
   */
  readonly storing: Map<string, string>;
  /** Once it aborts, no new call starts. Calls under way finish and are recorded. */
  readonly signal: AbortSignal;
}
