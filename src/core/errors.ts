export interface SyncErrorOptions {
  /** What the operator can do about it, as a sentence. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/**
 * The one error class: what went wrong, in words for an operator.
 * `code` is stable and documented; `message` never holds a token or a key.
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

/** Anything that was thrown: what isn't a SyncError is a mistake in this program, with the code INTERNAL. */
export const asSyncError = (error: unknown): SyncError =>
  error instanceof SyncError ? error : new SyncError("INTERNAL", describe(error));

/** One line about anything that was thrown. */
export function describe(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describe(error.errors[0]);
  return error instanceof Error ? error.message || error.name : String(error);
}
