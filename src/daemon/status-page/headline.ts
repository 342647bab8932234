import type { Verdict } from "../../core/report/health.ts";
import { healthOfState } from "../state/health-of-state.ts";
import { type Problem, problemsOf } from "../state/problems.ts";
import type { DaemonState } from "../state/state.ts";
import type { Tone } from "./headline-box.ts";
import { grouped, groupedCount, relative } from "./number-and-time-text.ts";

/** A problem, or what is said if there is none. */
export interface Headline extends Pick<Problem, "sentence" | "advice" | "see"> {
  readonly tone: Tone;
}

/** Everything that is wrong, the worst first; or one headline if nothing is. */
export function headlinesOf(state: DaemonState, now: Date): readonly [Headline, ...Headline[]] {
  const [worst, ...others] = problemsOf(state, now);
  return worst ? [worst, ...others] : [headlineIfWell(state, now)];
}

const headline = (tone: Tone, sentence: string, advice = ""): Headline => ({
  tone,
  sentence,
  advice: advice === "" ? [] : [advice],
});

function headlineIfWell(state: DaemonState, now: Date): Headline {
  const { current, standby, nextRun } = state;
  const [{ kind, sentence }] = healthOfState(state, now);
  if (current) {
    const goesOn = current.run === null ? "A run is about to begin." : "A run is going on.";
    return headline("busy", goesOn, BEFORE[kind]);
  }
  if (standby) {
    return headline(
      "idle",
      "Standing by: another instance is at work.",
      "This one takes over when the other one ends or its lease expires.",
    );
  }
  if (nextRun === null) return headline("idle", "It has been told to stop.");
  if (kind === "empty") return headline("idle", sentence, `The first sync is due ${relative(nextRun, now)}.`);
  if (kind === "running") return headline("busy", sentence);
  return headline("good", sentence, inSyncText(state));
}

/** While a run is under way: what the runs before it left. */
const BEFORE: Readonly<Partial<Record<Verdict["kind"], string>>> = {
  empty: "It is the first one: nothing has been synced yet.",
  killed: "It settles what the last one left, which was killed.",
  well: "All was well after the last one.",
  failed: "It goes on from where the last one was told to stop.",
};

function inSyncText({ ledger }: DaemonState): string {
  if (!ledger) return "";
  const { in_sync, total, missing } = ledger.status.groups;
  const gone =
    missing > 0
      ? `; ${missing === 1 ? "the tenant of 1 is" : `the tenants of ${grouped(missing)} are`} gone`
      : "";
  return `${grouped(in_sync)} of ${groupedCount(total, "group")} ${in_sync === 1 ? "is" : "are"} in sync${gone}.`;
}
