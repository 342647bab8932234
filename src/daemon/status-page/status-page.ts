import type { Verdict } from "../../core/report/health.ts";
import { healthOfState } from "../state/health-of-state.ts";
import { type Part, type Problem, problemsOf } from "../state/problems.ts";
import { brokenFeedsOf, type DaemonState, type LedgerSnapshot } from "../state/state.ts";
import { documentOf } from "./document.ts";
import type { Tone } from "./headline-box.ts";
import { headlineBox } from "./headline-box.ts";
import { failingSection, heldRefreshSection, heldSection, rejectedSection } from "./held-and-failing.ts";
import { type Html, html } from "./html.ts";
import type { PageTime } from "./number-and-time-text.ts";
import { grouped, groupedCount, relative } from "./number-and-time-text.ts";
import {
  aboutSection,
  currentRunSection,
  groupsSection,
  runsSection,
  servingSection,
  tokensSection,
} from "./sections.ts";

const REFRESH_SECONDS = 30;
const REFRESH_SECONDS_AT_WORK = 5;

/** The status page: all that is wrong first, then what is under way, and then all else. */
export function statusPage(state: DaemonState, now: Date): string {
  const { name, current, ledger, serving, standby, timezone: timeZone } = state;
  const at = { now, timeZone };
  const [worst, ...others] = headlinesOf(state, now);
  const ofServing = serving && servingSection(serving, standby, at);
  const isServingBroken = brokenFeedsOf(serving).length > 0;
  const main = html`${headlineHtml(worst, 1)}${others.map((headline) => headlineHtml(headline, 2))}
${ledger && problemSections(ledger, state, at)}${isServingBroken ? ofServing : null}
${current && currentRunSection(current, state.queued, at)}
${runsSection(state, at)}${isServingBroken ? null : ofServing}
${ledger && ledger.groups.total > 0 ? groupsSection(ledger, at) : null}
${ledger && tokensSection(ledger, at)}
${aboutSection(state, at)}`;
  const refreshSeconds = current ? REFRESH_SECONDS_AT_WORK : REFRESH_SECONDS;
  return documentOf({ name, main, title: worst.sentence, tone: worst.tone, asked: "", refreshSeconds }, at);
}

function problemSections(
  { held, groups, failing, rejected, names, refreshHold }: LedgerSnapshot,
  { configPath }: DaemonState,
  at: PageTime,
): Html {
  return html`${held && heldSection(held, names, configPath)}
${refreshHold && heldRefreshSection(refreshHold, configPath)}
${groups.failing > 0 ? failingSection(failing, groups.failing, names, at) : null}
${rejected.length > 0 ? rejectedSection(rejected, names, at) : null}`;
}

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
  const { in_sync, total, missing } = ledger.groups;
  const gone =
    missing > 0
      ? `; ${missing === 1 ? "the tenant of 1 is" : `the tenants of ${grouped(missing)} are`} gone`
      : "";
  return `${grouped(in_sync)} of ${groupedCount(total, "group")} ${in_sync === 1 ? "is" : "are"} in sync${gone}.`;
}

const SEE: Readonly<Record<Part, string>> = {
  held: "What is held, and how it is approved",
  refresh: "How the refresh is approved",
  failing: "Why groups fail, and the next tries",
  rejected: "Which rows are rejected, and the reasons",
  serving: "The reason",
};

function headlineHtml({ tone, sentence, advice, see }: Headline, level: 1 | 2): Html {
  const link = see === undefined ? [] : [html`<a href="#${see}">${SEE[see]}</a>`];
  return headlineBox(level, tone, sentence, [...advice, ...link]);
}
