import { SyncError } from "../core/errors.ts";
import { isBusy, patiently, pause } from "./patient-tokens.ts";
import type { Run } from "./run.ts";

/**
 * Does `work` with all of these at once or, where a token store is too slow or too busy for so many in one transaction,
 * with each half: what it has taken before that is rolled back costs it calls again.
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
    else if (!isTooSlow(error) || run.signal.aborted) throw error;
  }
  const half = Math.ceil(items.length / 2);
  await inPortions(items.slice(0, half), work, run);
  await inPortions(items.slice(half), work, run);
}

const isTooSlow = (error: unknown): boolean =>
  error instanceof SyncError && error.code === "TOKEN_STORE_SLOW";
