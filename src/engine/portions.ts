import { SyncError } from "../core/errors.ts";
import type { Run } from "./run.ts";

/** Does `work` with all of these or, where a token store is too slow for so many in one transaction, with each half. */
export async function inPortions<Item>(
  items: readonly Item[],
  work: (portion: readonly Item[]) => Promise<void>,
  { signal }: Pick<Run, "signal">,
): Promise<void> {
  try {
    await work(items);
  } catch (error) {
    const isTooMany = error instanceof SyncError && error.code === "TOKEN_STORE_SLOW" && items.length > 1;
    if (!isTooMany || signal.aborted) throw error;
    const half = Math.ceil(items.length / 2);
    await inPortions(items.slice(0, half), work, { signal });
    await inPortions(items.slice(half), work, { signal });
  }
}
