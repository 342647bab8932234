import { describe } from "../../../core/failure/sync-error.ts";
import type { InTransaction } from "../connection/connections.ts";
import type { Dialect } from "../dialect/dialect.ts";

export const rethrow = (error: unknown): never => {
  throw error;
};

/** In seconds. Short, because many rows may be locked, and each is waited for by a statement of its own. */
const WAIT_FOR_ONE = 1;

/** A transaction that goes on after a statement has failed. */
export interface Savepoints {
  readonly dialect: Pick<Dialect, "isGeneral" | "isDeadlock" | "isOfValue" | "lockWait" | "savepoint">;
  readonly connection: Pick<InTransaction, "query" | "isLastAttempt">;
}

/** A statement made the database roll back the whole transaction, together with the savepoint. */
export class TransactionLost extends Error {
  override readonly name = "TransactionLost";

  constructor(cause: unknown) {
    super(describe(cause), { cause });
  }
}

/**
 * Runs `body`. If the database refuses a statement in it, undoes `body` alone and runs `otherwise`.
 * Rejects if the database as a whole is at fault, and with TransactionLost.
 */
export async function orElse<T>(
  { dialect, connection }: Savepoints,
  body: () => Promise<T>,
  otherwise: (error: unknown) => Promise<T>,
): Promise<T> {
  await connection.query(dialect.savepoint.open);
  try {
    const result = await body();
    await connection.query(dialect.savepoint.release);
    return result;
  } catch (error) {
    if (dialect.isGeneral(error)) throw error;
    // A trigger can raise a deadlock error too, and then raises it each time.
    if (dialect.isDeadlock(error) && !connection.isLastAttempt) throw error;
    try {
      await connection.query(dialect.savepoint.undo);
    } catch {
      throw new TransactionLost(error);
    }
    await connection.query(dialect.savepoint.release);
    return otherwise(error);
  }
}

/**
 * Runs `body` for all items at once. If the database refuses a statement, runs `body` for each item alone and calls
 * `refused` for each item that fails alone; the transaction goes on. Resolves to all results together.
 * Rejects if `body` fails even for no items: then the fault is not an item's.
 */
export function togetherOrEach<Item, Result>(
  savepoints: Savepoints,
  items: readonly Item[],
  body: (items: readonly Item[]) => Promise<readonly Result[]>,
  refused: (item: Item, error: unknown) => Result,
): Promise<readonly Result[]> {
  const { dialect, connection } = savepoints;
  const each = async (error: unknown): Promise<readonly Result[]> => {
    await orElse(savepoints, () => body([]), rethrow);
    const [only, ...others] = items;
    if (only !== undefined && others.length === 0) return [refused(only, error)];
    const results: Result[] = [];
    await connection.query(dialect.lockWait(WAIT_FOR_ONE));
    for (const item of items) {
      const alone = () => body([item]);
      results.push(...(await orElse(savepoints, alone, async (reason) => [refused(item, reason)])));
    }
    await connection.query(dialect.lockWait());
    return results;
  };
  return orElse(savepoints, () => body(items), each);
}
