import { describe } from "../../core/errors.ts";
import type { Queryable } from "./connections.ts";
import type { Dialect } from "./dialect.ts";

/** How long a statement about one row alone waits for a lock, in seconds: many rows may be locked. */
const WAIT_FOR_ONE = 1;

/** A transaction whose statements may fail without ending it. */
export interface Savepoints {
  readonly dialect: Pick<Dialect, "isGeneral" | "isDeadlock" | "lockWait" | "savepoint">;
  readonly connection: Queryable;
  /** The transaction is not made again if the database gives it up. */
  readonly isLastAttempt: boolean;
}

/** The database has given up the whole transaction over a statement, and the savepoint with it. */
export class TransactionLost extends Error {
  override readonly name = "TransactionLost";

  constructor(cause: unknown) {
    super(describe(cause), { cause });
  }
}

/**
 * Runs `body` and, if a statement of it is refused, `otherwise`: the transaction is then as good as it was before.
 * Rejects if the database as a whole is at fault, and with TransactionLost.
 */
export async function orElse<T>(
  { dialect, connection, isLastAttempt }: Savepoints,
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
    // A trigger can say so as well, and says it each time.
    if (dialect.isDeadlock(error) && !isLastAttempt) throw error;
    try {
      await connection.query("ROLLBACK TO SAVEPOINT groupsync");
    } catch {
      throw new TransactionLost(error);
    }
    await connection.query(dialect.savepoint.release);
    return otherwise(error);
  }
}

/**
 * Runs `body` for all items at once. If a statement is refused, runs it for each item on its own, gives those that are
 * refused on their own to `refused`, and goes on with the transaction. Resolves to all results together.
 * What is refused even for no item at all is nobody's own fault: then it rejects.
 */
export function togetherOrEach<Item, Result>(
  savepoints: Savepoints,
  items: readonly Item[],
  body: (items: readonly Item[]) => Promise<readonly Result[]>,
  refused: (item: Item, error: unknown) => Result,
): Promise<readonly Result[]> {
  const { dialect, connection } = savepoints;
  const each = async (error: unknown): Promise<readonly Result[]> => {
    await orElse(savepoints, () => body([]), rejected);
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

const rejected = (error: unknown): never => {
  throw error;
};
