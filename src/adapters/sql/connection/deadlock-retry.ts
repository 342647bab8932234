import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Failures } from "./failures.ts";

const MOST_ATTEMPTS = 5;

/**
 * Repeats a transaction that the database rolled back in favour of another one, at once and up to five times in all. It
 * was a deadlock, or the other one was committed on another node of a cluster: then the COMMIT may fail as well as any
 * other statement. `transact` is told whether this is the last time.
 *
 * This is the lowest retry of database work: such a rollback says nothing about the tokens or groups in the
 * transaction, so no layer above has to see it. The layer above repeats the halves of a batch (engine/loop/committer.ts).
 */
export async function retryDeadlocks<T>(
  { isDeadlock }: Pick<Failures, "isDeadlock">,
  transact: (isLast: boolean) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transact(attempt === MOST_ATTEMPTS);
    } catch (error) {
      // A token store in the same transaction wraps the database's error.
      const cause = error instanceof SyncError ? error.cause : error;
      if (attempt === MOST_ATTEMPTS || !isDeadlock(cause)) throw error;
    }
  }
}
