import { isAlarming, type WentMissing, wentMissingText } from "../deletion/missing-tenants.ts";
import { type Failure, isHandOver } from "../failure/failure.ts";
import { printable } from "../text/printable.ts";
import { quantity } from "../text/quantity.ts";
import type { Counts, RunOutcome } from "./counts.ts";
import { outOfSyncText } from "./summary-text.ts";

/** What the health of a scope is judged by. */
export interface HealthFacts {
  readonly groups: { readonly failing: number };
  /** Null if nothing waits for approval. */
  readonly held: { readonly count: number } | null;
  readonly missing: WentMissing;
  /** Newest first. */
  readonly runs: readonly PastRun[];
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

export interface Health {
  readonly kind: "empty" | "running" | "killed" | "failed" | "held" | "missing" | "attention" | "well";
  /** For people, in one line. */
  readonly sentence: string;
}

const LONGEST = 500;

/** Says in one sentence whether all is well, for `status` and the status page. The most urgent problem comes first. */
export function healthOf({ groups, held, missing, runs: all, lease }: HealthFacts): Health {
  // A sync that handed its lease over goes on in the daemon's next run, which says how it ended.
  const runs = all.filter(({ result }) => !(result?.error && isHandOver(result.error)));
  const [last] = runs;
  if (!last) return { kind: "empty", sentence: "Nothing has been synced yet." };
  if (last.result === null) {
    return lease
      ? { kind: "running", sentence: "A run is going on." }
      : { kind: "killed", sentence: "The last run was killed; the next one settles what it left." };
  }
  const [command, { outcome, counts, error }] = decidingRun(last.command, last.result, runs);
  if (outcome === "failed") {
    const reason = error ? printable(error.message) : "unknown";
    return { kind: "failed", sentence: `The last ${command} failed: ${reason}` };
  }
  if (outcome === "held" && error) {
    return { kind: "held", sentence: `Needs attention: ${printable(error.message, LONGEST)}.` };
  }
  if (held) return { kind: "held", sentence: `Needs attention: ${quantity(held.count, "removal")} held.` };
  if (isAlarming(missing))
    return { kind: "missing", sentence: `Needs attention: ${wentMissingText(missing)}.` };
  const outOfSync = outOfSyncText({ ...counts, failed: groups.failing });
  if (outOfSync !== "") return { kind: "attention", sentence: `Needs attention: ${outOfSync}.` };
  return outcome === "ok"
    ? { kind: "well", sentence: "All is well." }
    : { kind: "attention", sentence: `The last ${command} ended ${outcome}.` };
}

/** The run by which health is judged. A rotation reads no rows, so the last sync counts after a good rotation. */
function decidingRun(
  command: string,
  result: PastResult,
  runs: readonly PastRun[],
): readonly [command: string, result: PastResult] {
  if (result.outcome === "failed") return [command, result];
  const sync = runs.find((run) => run.command === "sync" && run.result !== null);
  return sync?.result ? [sync.command, sync.result] : [command, result];
}
