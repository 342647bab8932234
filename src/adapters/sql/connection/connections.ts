import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Failures } from "./failures.ts";
import type { WaitLimits } from "./wait-limits.ts";

/**
 * What groupsync uses of a connection. The text refers to its values as $1, $2 …, each any number of times. 64-bit
 * integers, and so counts and sums, are returned as text; times as Dates.
 */
export interface Queryable {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** A connection in a transaction. If this process stands still, the server ends the transaction. */
export interface InTransaction extends Queryable {
  /** If true, the transaction is not repeated when the database rolls it back. */
  readonly isLastAttempt: boolean;
}

/**
 * A pool of a few connections to one database. Once this process is told to stop, reads reject with INTERRUPTED; writes
 * have a few seconds more. Every wait for a statement has a limit.
 */
export interface Connections extends Queryable {
  /** A statement that writes, and returns rows. */
  write<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /**
   * Runs a statement that changes rows, in a transaction of its own that is as durable as a session can make it, and
   * repeats it as `transaction` does. Resolves to the number of rows that it matched.
   */
  change(text: string, values?: readonly unknown[]): Promise<number>;
  /**
   * Runs `body` in one transaction, on a connection of its own. The statements in `begin` open the transaction; `body`
   * gets the rows of the last of them. If the database rolls the transaction back in favour of another one, all of it is
   * repeated, `body` too. `limits` are WRITE by default.
   */
  transaction<T>(
    begin: readonly string[],
    body: (connection: InTransaction, begun: readonly object[]) => Promise<T>,
    limits?: WaitLimits,
  ): Promise<T>;
  /** Streams a query's rows, as arrays, in batches of at most `size`, in a read-only transaction. */
  stream<Row extends readonly unknown[]>(
    begin: readonly string[],
    text: string,
    values: readonly unknown[],
    size: number,
  ): AsyncIterable<Row[]>;
  /**
   * The same methods for statements on the customer's tables. On PostgreSQL they keep the role's search_path, because
   * triggers and policies of these tables may need it. All other names in such a statement have to be written with
   * their schema.
   */
  readonly byRolesPath: Pick<Connections, "query" | "write" | "stream">;
  /** Ends all connections, and the statements that still run on them. Idempotent. */
  close(): Promise<void>;
}

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
