import type { SyncError } from "../failure/sync-error.ts";

/** `failure`: a sync, or the daemon, can't do its work. `warning`: it can, but somebody should look. */
export type FindingLevel = "ok" | "warning" | "failure";

/** One line of what `check` found. Holds no secret. */
export interface Finding {
  readonly level: FindingLevel;
  /** The code of the error or the warning that a sync would end with or give. */
  readonly code?: string;
  readonly message: string;
  /** What the operator can do. */
  readonly hint?: string;
}

export const ok = (message: string): Finding => ({ level: "ok", message });

export const warning = (message: string, hint?: string): Finding => ({
  level: "warning",
  message,
  ...(hint !== undefined && { hint }),
});

export const failure = (message: string, hint: string): Finding => ({ level: "failure", message, hint });

type Told = Pick<SyncError, "code" | "message"> & { readonly hint?: string | undefined };

/** The finding for an error, or for a warning of a sync. */
export const told = (level: Exclude<FindingLevel, "ok">, { code, message, hint }: Told): Finding => ({
  level,
  code,
  message,
  ...(hint !== undefined && { hint }),
});
