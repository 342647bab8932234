import { isAlarming, type WentMissing, wentMissingText } from "../deletion/missing-tenants.ts";
import { type RefreshHold, refreshHoldText } from "../drift/refresh.ts";
import { type Failure, isClockDifference, isHandOver, isInterruption } from "../failure/sync-error.ts";
import { type RememberedRejection, rejectedRows } from "../group/rejections.ts";
import { printable } from "../text/printable.ts";
import { durationText, quantity } from "../text/quantity.ts";
import type { Counts, RunOutcome } from "./counts.ts";

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

/** What the health of a scope is judged by. */
export interface HealthFacts {
  readonly groups: { readonly failing: number; readonly in_doubt: number; readonly wanted: number };
  readonly rejected: readonly RememberedRejection[];
  /** Null if nothing waits for approval. */
  readonly held: { readonly count: number } | null;
  /** Null if no refresh is held. */
  readonly refreshHold: RefreshHold | null;
  readonly missing: WentMissing;
  /**
   * For how long the tenant has been waiting that was noticed first of those without an end yet, in milliseconds. 0 if none
   * waits, or nobody knows of one.
   */
  readonly oldestWaitMs: number;
  /** For how long the service has given no good answer, in milliseconds. 0 if nobody has asked it for so long. */
  readonly silentMs: number;
  /** Newest first. */
  readonly runs: readonly PastRun[];
  /** The last run that the service made fail; null if the service has given a good answer since. */
  readonly unanswered: PastRun | null;
  /** The instance that holds the lease; null if none does. */
  readonly lease: object | null;
}

interface PastRun {
  readonly command: string;
  /** Null while the run goes on, and for ever if it was killed. */
  readonly result: PastResult | null;
}

interface PastResult {
  readonly outcome: RunOutcome;
  readonly counts: Readonly<Counts>;
  readonly error: Failure | null;
}

/** One thing to say about the health of a scope. Nothing is wrong if it is of one of the last three kinds. */
export interface Verdict {
  readonly kind:
    | "killed"
    | "failed"
    | "unanswered"
    | "waiting"
    | "silent"
    | "held"
    | "clocks"
    | "refresh"
    | "missing"
    | "rejected"
    | "failing"
    | "in_doubt"
    | "wanted"
    | "outdated"
    | "empty"
    | "running"
    | "well";
  /** For people, in one line. */
  readonly sentence: string;
  /** Stands in for `sentence` where anybody may read. Set if `sentence` has words of a database, which may quote a tenant. */
  readonly discreet?: string;
}

const LONGEST = 500;
/** How long a tenant may wait before something is wrong, in milliseconds. */
const LONGEST_WAIT = 60_000;

/**
 * Everything that is wrong, the most urgent first, and whether a run is going on; or one sentence if nothing is wrong. For
 * `status`, the status page and `/readyz`.
 */
export function healthOf(facts: HealthFacts): readonly [Verdict, ...Verdict[]] {
  // A sync that handed its lease over goes on in the daemon's next run, which says how it ended.
  const runs = facts.runs.filter(({ result }) => !(result?.error && isHandOver(result.error)));
  const [last] = runs;
  const [worst, ...others] = [
    ...problemsOfRuns(runs, facts),
    ...problemsOfGroups(runs, facts),
    ...(last?.result === null && facts.lease ? [GOING_ON] : []),
  ];
  if (worst) return [worst, ...others];
  return !last || (facts.missing.owned === 0 && runs.every(makesNoGroups))
    ? [{ kind: "empty", sentence: "Nothing has been synced yet." }]
    : [{ kind: "well", sentence: "All is well." }];
}

const KILLED: Verdict = {
  kind: "killed",
  sentence: "The last run was killed; the next one settles what it left.",
};
const GOING_ON: Verdict = { kind: "running", sentence: "A run is going on." };

const makesNoGroups = ({ command }: PastRun): boolean => command === FORGET || command === "probe";

function problemsOfRuns(runs: readonly PastRun[], { lease, unanswered }: HealthFacts): Verdict[] {
  // What the service has done to a run lasts until it gives a good answer, however later runs end.
  const lasting = unanswered ? [failure("unanswered", unanswered)] : [];
  if (runs[0]?.result === null && !lease) return [KILLED, ...lasting];
  const run = decidingRun(runs);
  if (run?.result?.outcome !== "failed") return lasting;
  // A run that was told to stop has shown nothing.
  if (unanswered && run.result.error && isInterruption(run.result.error)) return lasting;
  return [failure("failed", run)];
}

function failure(kind: "failed" | "unanswered", { command, result }: PastRun): Verdict {
  const { code, message } = result?.error ?? { code: "INTERNAL", message: "unknown" };
  const what =
    kind === "failed"
      ? `The last ${command} failed`
      : `The service made a ${command} fail, and has given no good answer since`;
  return { kind, sentence: `${what}: ${printable(message)}`, discreet: `${what}: ${code}` };
}

function problemsOfGroups(
  runs: readonly PastRun[],
  { groups, rejected, held, refreshHold, missing, oldestWaitMs, silentMs, lease }: HealthFacts,
): Verdict[] {
  const { outcome, counts, error } = decidingRun(runs)?.result ?? {};
  const all: (readonly [Verdict["kind"], string])[] = [];
  if (oldestWaitMs > LONGEST_WAIT)
    all.push(["waiting", `a tenant has been waiting for ${durationText(oldestWaitMs)}`]);
  if (silentMs > 0)
    all.push(["silent", `the service has given no good answer for ${durationText(silentMs)}`]);
  if (error && isClockDifference(error)) all.push(["clocks", printable(error.message, LONGEST)]);
  // The refresh and the clocks have a verdict of their own.
  if (outcome === "held" && error && error.code !== "REFRESH_HELD" && !isClockDifference(error))
    all.push(["held", printable(error.message, LONGEST)]);
  else if (held) all.push(["held", `${quantity(held.count, "removal")} held`]);
  if (refreshHold) all.push(["refresh", refreshHoldText(refreshHold)]);
  if (isAlarming(missing)) all.push(["missing", wentMissingText(missing)]);
  const failing = failingGroups({ groups, runs });
  if (rejected.length > 0) all.push(["rejected", quantity(rejectedRows(rejected), "rejected row")]);
  if (failing > 0) all.push(["failing", quantity(failing, "failing group")]);
  if (groups.in_doubt > 0)
    all.push(["in_doubt", `${quantity(groups.in_doubt, "group")} in doubt, and to be asked for again`]);
  const isRotating = lease !== null && runs[0]?.command === "rotate" && runs[0].result === null;
  if (groups.wanted > 0 && !isRotating)
    all.push(["wanted", `${quantity(groups.wanted, "new token")} wanted`]);
  if (counts?.outdated) all.push(["outdated", quantity(counts.outdated, "outdated group")]);
  return all.map(([kind, text]) => ({ kind, sentence: `Needs attention: ${text}.` }));
}

/** How many groups fail, by the ledger or by the last run, which may know of more. */
function failingGroups({ groups, runs }: Pick<HealthFacts, "groups" | "runs">): number {
  const last = runs.find(({ result }) => result !== null);
  return Math.max(groups.failing, last?.result?.counts.failed ?? 0);
}

/**
 * The run by which health is judged: the last one that has ended, because a run that goes on has shown nothing yet. A
 * rotation reads no rows, so the last sync counts after a good rotation.
 */
function decidingRun(runs: readonly PastRun[]): PastRun | undefined {
  const ended = runs.filter(({ result }) => result !== null);
  const [last] = ended;
  if (last?.result?.outcome === "failed") return last;
  return ended.find(({ command }) => command === "sync") ?? last;
}
