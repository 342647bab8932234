import { SyncError } from "../../src/core/failure/sync-error.ts";

/** All that an operator or a log could get to see of an error. */
export function everythingIn(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify(error) ?? "";
  const { message, stack, cause } = error;
  const hint = error instanceof SyncError ? error.hint : undefined;
  return [message, hint, stack, JSON.stringify(error), cause && everythingIn(cause)].join("\n");
}
