import { counted } from "./counted.ts";
import { outOfSyncText } from "./out-of-sync.ts";
import type { Counts, Failure, RunOutcome } from "./outcome.ts";
import { printable } from "./printable.ts";
import { isAlarming, type WentMissing, wentMissingText } from "./went-missing.ts";

/** What is known of how things are. */
export interface HealthFacts {
  readonly groups: { readonly failing: number };
  /** Null where nothing waits for approval. */
  readonly held: { readonly count: number } | null;
  readonly missing: WentMissing;
  /** Newest first. */
  readonly runs: readonly PastRun[];
  /** Whoever is at work; null where nobody is. */
  readonly lease: object | null;
}

interface PastRun {
  readonly command: string;
  /** Null while it runs, and for good where it was killed. */
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

/** Is all well? In one sentence, the same wherever it is asked. */
export function healthOf({ groups, held, missing, runs, lease }: HealthFacts): Health {
  const [last] = runs;
  if (!last) return { kind: "empty", sentence: "Nothing has been synced yet." };
  if (last.result === null) {
    return lease
      ? { kind: "running", sentence: "A run is going on." }
      : { kind: "killed", sentence: "The last run was killed; the next one settles what it left." };
  }
  const [command, { outcome, counts, error }] = telling(last.command, last.result, runs);
  if (outcome === "failed") {
    const reason = error ? printable(error.message) : "unknown";
    return { kind: "failed", sentence: `The last ${command} failed: ${reason}` };
  }
  if (outcome === "held" && error) {
    return { kind: "held", sentence: `Needs attention: ${printable(error.message, LONGEST)}.` };
  }
  if (held) return { kind: "held", sentence: `Needs attention: ${counted(held.count, "removal")} held.` };
  if (isAlarming(missing))
    return { kind: "missing", sentence: `Needs attention: ${wentMissingText(missing)}.` };
  const outOfSync = outOfSyncText({ ...counts, failed: groups.failing });
  if (outOfSync !== "") return { kind: "attention", sentence: `Needs attention: ${outOfSync}.` };
  return outcome === "ok"
    ? { kind: "well", sentence: "All is well." }
    : { kind: "attention", sentence: `The last ${command} ended ${outcome}.` };
}

/** The run that tells how things are. A rotation reads no rows: one that went well says nothing of them. */
function telling(
  command: string,
  result: PastResult,
  runs: readonly PastRun[],
): readonly [command: string, result: PastResult] {
  if (result.outcome === "failed") return [command, result];
  const sync = runs.find((run) => run.command === "sync" && run.result !== null);
  return sync?.result ? [sync.command, sync.result] : [command, result];
}
