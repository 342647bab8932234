import { SyncError } from "../../core/errors.ts";
import type { Failures } from "./failures.ts";

const MOST_ATTEMPTS = 5;

/** Makes a transaction again that the database gave up in favour of another. `transact` is told which time is the last. */
export async function repeatedly<T>(
  { isDeadlock }: Pick<Failures, "isDeadlock">,
  transact: (isLast: boolean) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transact(attempt === MOST_ATTEMPTS);
    } catch (error) {
      // A token store in the same transaction has put its own words around the database's.
      const cause = error instanceof SyncError ? error.cause : error;
      if (attempt === MOST_ATTEMPTS || !isDeadlock(cause)) throw error;
    }
  }
}
