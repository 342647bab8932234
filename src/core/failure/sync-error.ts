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

/** Why something failed. `code` is stable and documented; `message` is for an operator, and holds no token and no key. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** A failure, and what the operator can do about it, if that is known. */
export interface FailureWithHint extends Failure {
  readonly hint?: string | undefined;
}

/** What is logged, stored and shown of an error. Its cause may quote anything. */
export function withoutCause({ code, message, hint }: FailureWithHint): FailureWithHint {
  return hint === undefined ? { code, message } : { code, message, hint };
}

/** The operator named a tenant that is gone. Without this failure, exit 0 would claim that the tenant is in sync. */
export const tenantGone = (message: string): Failure => ({ code: "TENANT_GONE", message });

export const isTenantGone = ({ code }: Pick<Failure, "code">): boolean => code === "TENANT_GONE";

/** The operator named a tenant that has to wait: nothing is wrong, but exit 0 would claim that the tenant is in sync. */
export const tenantNotReady = (): Failure => ({
  code: "NOT_READY",
  message: "the tenant waits: source.ready_when is not true of its row",
});

export const isTenantNotReady = ({ code }: Pick<Failure, "code">): boolean => code === "NOT_READY";

/** The host and the ledger's database tell times too different for any group to be removed. */
export const clockDiffers = (message: string): Failure => ({ code: "CLOCK_DIFFERS", message });

export const isClockDifference = ({ code }: Pick<Failure, "code">): boolean => code === "CLOCK_DIFFERS";

/** Whether the operator's command was wrong. Such a run says nothing about the health of groups, source or service. */
export const isUsageMistake = ({ code }: Pick<Failure, "code">): boolean =>
  code === "UNKNOWN_ID" || code === "UNKNOWN_SCOPE";

/** Whether the run ended before its work was done, because it was told to stop or another instance asked for the lease. */
export const isInterruption = ({ code }: Pick<Failure, "code">): boolean =>
  code === "INTERRUPTED" || isHandOver({ code });

/** Whether a command asked for the lease of the run. The daemon goes on after that command. */
export const isHandOver = ({ code }: Pick<Failure, "code">): boolean => code === "LEASE_HANDED_OVER";

/** Whether nothing is wrong: the run was interrupted, or another instance holds the lease. */
export const isNoFault = (failure: Pick<Failure, "code">): boolean =>
  isInterruption(failure) || failure.code === "LEASE_HELD";
