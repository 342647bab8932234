import { describe, SyncError } from "../../core/errors.ts";

/** What one kind of database, and its driver, mean by what they throw. */
export interface Failures {
  /** What an operator can do about a familiar error. */
  hintFor(error: unknown): string | undefined;
  /**
   * The database as a whole is at fault, or the connection to it: no other row would work now. Of everything else a
   * trigger, a policy, a constraint or a lock may say so for one row alone.
   */
  isGeneral(error: unknown): boolean;
  /** A column by this name takes no NULL. */
  refusesNull(error: unknown, column: string): boolean;
  /** The database gave the transaction up so that another could go on: the same again may well work. */
  isDeadlock(error: unknown): boolean;
  /** Somebody else kept a lock for longer than this transaction was willing to wait. */
  isLockTimeout(error: unknown): boolean;
}

/** Wraps whatever a driver threw, with a hint where the error is a familiar one. Keeps a SyncError as it is. */
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
