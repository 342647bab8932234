import { type FailureWithHint, withoutCause } from "../failure/sync-error.ts";

/** `failure`: a sync, or the daemon, can't do its work. `warning`: it can, but somebody should look. */
export type FindingLevel = "ok" | "warning" | "failure";

/** One thing that `check` or `probe` has found out. Holds no secret. */
export interface Finding {
  readonly level: FindingLevel;
  /** The code of the error or the warning that a sync would end with or give. */
  readonly code?: string;
  readonly message: string;
  /** What the operator can do. */
  readonly hint?: string | undefined;
}

export const ok = (message: string): Finding => ({ level: "ok", message });

export const warning = (message: string, hint?: string): Finding => ({
  level: "warning",
  message,
  ...(hint !== undefined && { hint }),
});

export const failure = (message: string, hint: string): Finding => ({ level: "failure", message, hint });

/** An error, or a warning of a sync, as a finding. */
export const asFinding = (level: Exclude<FindingLevel, "ok">, problem: FailureWithHint): Finding => ({
  level,
  ...withoutCause(problem),
});
