/** The name, in the history of the runs, of a run that forgets its scope. It is all that stays of the history. */
export const FORGET = "forget";

interface LastRun {
  readonly command: string;
  readonly startedAt: Date;
  /** Null if the run goes on or was killed. */
  readonly finishedAt: Date | null;
}

/**
 * Whether somebody has forgotten the scope, or begun to, since this process was started. `last` is the newest run in the
 * history of the scope.
 */
export const wasForgottenSince = (last: LastRun | undefined, started: Date): boolean =>
  last?.command === FORGET && (last.finishedAt ?? last.startedAt) > started;
