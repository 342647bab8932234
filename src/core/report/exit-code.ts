import { type Failure, isUsageMistake, type SyncError } from "../failure/sync-error.ts";
import type { Tone } from "./card.ts";
import type { Counts, RunOutcome } from "./counts.ts";

/** The exit codes that users and other programs rely on. */
export const EXIT = {
  done: 0,
  failed: 1,
  changesPending: 2,
  partial: 3,
  held: 4,
  leaseHeld: 5,
  usage: 64,
  config: 78,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The exit code of a command that ended with this error. */
export function exitCodeOfError(error: SyncError): ExitCode {
  const { code } = error;
  if (code === "LEASE_HELD") return EXIT.leaseHeld;
  if (code === "CANARY_REMAINS") return EXIT.partial;
  if (isUsageMistake(error)) return EXIT.usage;
  return isConfigError(error) ? EXIT.config : EXIT.failed;
}

/** Whether only another config helps. */
export const isConfigError = ({ code }: Failure): boolean => code.startsWith("CONFIG_");

/** The exit code of a sync. An error outranks the outcome. */
export const exitCodeOfRun = (outcome: RunOutcome, error: SyncError | undefined): ExitCode =>
  error ? exitCodeOfError(error) : OF_OUTCOME[outcome];

/** The exit code of `status --exit-code`, by the worst that is wrong. */
export function exitCodeOfTone(tone: Tone): ExitCode {
  if (tone === "bad") return EXIT.failed;
  return tone === "attention" ? EXIT.partial : EXIT.done;
}

interface Done {
  readonly outcome: RunOutcome;
  readonly counts: Readonly<Counts>;
  /** How the clocks differ; undefined if they agree. */
  readonly clocks?: Failure | undefined;
}

/** Whether rejected rows and failing groups are all that a sync has left undone, and it has done anything. */
export function isMostlyDone({ outcome, counts, clocks }: Done): boolean {
  const { created, adopted, updated, replaced, unchanged, wanted } = counts;
  const isAnyInSync = created + adopted + updated + replaced + unchanged > 0;
  return outcome === "partial" && clocks === undefined && wanted === 0 && isAnyInSync;
}

const OF_OUTCOME: Readonly<Record<RunOutcome, ExitCode>> = {
  ok: EXIT.done,
  partial: EXIT.partial,
  held: EXIT.held,
  failed: EXIT.failed,
};
