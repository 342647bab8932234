import { describe, SyncError } from "../../../core/failure/sync-error.ts";

/** Tells apart the errors of one kind of database and its driver. */
export interface Failures {
  /** What an operator can do about the error; undefined if nothing is known. */
  hintFor(error: unknown): string | undefined;
  /**
   * The failure concerns the whole database or the connection to it: no other row would work now. Any other error may
   * concern one row alone, because of a trigger, a policy, a constraint or a lock.
   */
  isGeneral(error: unknown): boolean;
  /** No column of this type or encoding can have a value of the statement, or what is there has no counterpart here. */
  isOfValue(error: unknown): boolean;
  /** A right to a database, a table or a column is missing. */
  isDenied(error: unknown): boolean;
  /** The database rolled this transaction back in favour of another one. A retry may succeed. */
  isDeadlock(error: unknown): boolean;
  /** Another session held a lock for longer than this transaction waits. */
  isLockTimeout(error: unknown): boolean;
}

/** Wraps a driver's error, with a hint if there is one. Returns a SyncError as it is. */
export function databaseError(
  { hintFor }: Pick<Failures, "hintFor">,
  code: string,
  doing: string,
  error: unknown,
): SyncError {
  if (error instanceof SyncError) return error;
  const cause = error instanceof AggregateError ? error.errors[0] : error;
  const hint = hintFor(cause);
  return new SyncError(code, `${doing}: ${describe(cause)}`, hint ? { hint, cause } : { cause });
}
