import { SyncError } from "../core/errors.ts";
import { isBusy, patiently, pause } from "./patient-tokens.ts";
import type { Run } from "./run.ts";

/**
 * Does `work` with all of these at once. If a token store is too slow or too busy for so many in one transaction, or if
 * the transaction is lost over one of them, with each half: what the store has taken before that is rolled back costs it
 * calls again.
 */
export async function inPortions<Item>(
  items: readonly Item[],
  work: (portion: readonly Item[]) => Promise<void>,
  run: Pick<Run, "clock" | "observe" | "signal">,
): Promise<void> {
  if (items.length <= 1) return patiently(() => work(items), run);
  try {
    return await work(items);
  } catch (error) {
    if (isBusy(error)) await pause(error, run);
    else if (!isRefusal(error) && (!isTooSlow(error) || run.signal.aborted)) throw error;
  }
  const half = Math.ceil(items.length / 2);
  await inPortions(items.slice(0, half), work, run);
  await inPortions(items.slice(half), work, run);
}

/** It speaks of one token, which may be any of those that were to be written or removed. */
export const isRefusal = (error: unknown): error is SyncError =>
  error instanceof SyncError && (error.code === "TOKEN_NOT_STORED" || error.code === "TOKEN_NOT_REMOVED");

const isTooSlow = (error: unknown): boolean =>
  error instanceof SyncError && error.code === "TOKEN_STORE_SLOW";
