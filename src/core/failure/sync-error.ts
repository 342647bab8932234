export interface SyncErrorOptions {
  /** What the operator can do, as a sentence. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/**
 * The only error class of this program. `code` is stable and documented; `message` says what went wrong, for an operator,
 * and never holds a token or a key.
 */
export class SyncError<Code extends string = string> extends Error {
  override readonly name = "SyncError";
  readonly code: Code;
  readonly hint: string | undefined;

  constructor(code: Code, message: string, options: SyncErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
  }
}

/** The error of a run that was told to stop before its end. Only the command knows what goes on with the work that is left. */
export const interrupted = (): SyncError =>
  new SyncError("INTERRUPTED", "the run was told to stop before it was done");

/** The same error, with one more sentence for the operator. Anything else than a SyncError is returned as it is. */
export function withHint(hint: string, error: unknown): unknown {
  if (!(error instanceof SyncError)) return error;
  const { code, message, hint: first, cause } = error;
  return new SyncError(code, message, {
    hint: first === undefined ? hint : `${first}; ${hint}`,
    cause,
  });
}

/** Makes a SyncError of anything that was thrown. Anything else than a SyncError is a bug here, with the code INTERNAL. */
export const asSyncError = (error: unknown): SyncError =>
  error instanceof SyncError ? error : new SyncError("INTERNAL", describe(error));

/** A message for anything that was thrown. */
export function describe(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describe(error.errors[0]);
  return error instanceof Error ? error.message || error.name : String(error);
}
