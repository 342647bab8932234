import { interrupted, SyncError } from "../../core/failure/sync-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Observe } from "../../ports/observer.ts";
import type { TokenStore } from "../../ports/token-store.ts";
import type { LedgerWriting } from "../lease/lease.ts";

/** The pause before a busy store is called again, in milliseconds. */
const WAIT = 15_000;
/** How long a busy store is waited for in all, in milliseconds: stores often count their quotas by the minute. */
const LONGEST_WAIT = 10 * 60_000;

/** What a step needs to wait for a token store. */
export interface Waiting {
  readonly clock: Clock;
  readonly observe: Observe;
  /** Once it aborts, no new call starts. Calls under way finish and are recorded. */
  readonly signal: AbortSignal;
}

/**
 * Repeats `work` while a token store is busy (TOKEN_STORE_BUSY), for ten minutes at most. Rejects with INTERRUPTED if the run
 * is told to end meanwhile. Only work on groups' tokens is repeated: a store that is busy before that ends the run, and the
 * next run tries again.
 *
 * This is the layer above a single store call (`StoreRetries` in the adapters), which waits for 30 seconds at most because
 * a ledger transaction may be open meanwhile. Here no transaction is open: `work` opens one itself, and opens it anew each
 * time. The layer above is the group's own backoff (core/failure/backoff.ts).
 */
export async function retryWhileBusy<T>(work: () => Promise<T>, waiting: Waiting): Promise<T> {
  const { clock } = waiting;
  const begun = clock.monotonic();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error) || clock.monotonic() - begun > LONGEST_WAIT) throw error;
      await pause(error, waiting);
    }
  }
}

async function pause({ message }: SyncError, { clock, observe, signal }: Waiting): Promise<void> {
  if (signal.aborted) throw interrupted();
  observe({ kind: "waiting", ms: WAIT, reason: message });
  await clock.sleep(WAIT, signal);
  if (signal.aborted) throw interrupted();
}

const isBusy = (error: unknown): error is SyncError =>
  error instanceof SyncError && error.code === "TOKEN_STORE_BUSY";

/**
 * Does `work` with all items in one transaction. If that fails because a token store is too slow or too busy for all of
 * them, or because one item made the transaction fail, does `work` with each half, down to single items. Halves cost fewer
 * store calls than single items.
 */
export async function retryInHalves<Item>(
  items: readonly Item[],
  work: (batch: readonly Item[]) => Promise<void>,
  waiting: Waiting,
): Promise<void> {
  if (items.length <= 1) return retryWhileBusy(() => work(items), waiting);
  try {
    return await work(items);
  } catch (error) {
    if (isBusy(error)) await pause(error, waiting);
    else if (!isRefusal(error) && (!isTooSlow(error) || waiting.signal.aborted)) throw error;
  }
  const half = Math.ceil(items.length / 2);
  await retryInHalves(items.slice(0, half), work, waiting);
  await retryInHalves(items.slice(half), work, waiting);
}

/** Whether one token made the transaction fail. The error doesn't say which token of the batch. */
export const isRefusal = (error: unknown): error is SyncError =>
  error instanceof SyncError && (error.code === "TOKEN_NOT_STORED" || error.code === "TOKEN_NOT_REMOVED");

const isTooSlow = (error: unknown): boolean =>
  error instanceof SyncError && error.code === "TOKEN_STORE_SLOW";

/** What a step needs to store tokens, and to record in the ledger that they are stored. */
export interface TokenWriting extends LedgerWriting, Waiting {
  readonly tokens: TokenStore;
}
