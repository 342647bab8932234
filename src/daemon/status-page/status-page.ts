import type { Verdict } from "../../core/report/health.ts";
import { healthOfState } from "../state/health-of-state.ts";
import { type Part, type Problem, problemsOf } from "../state/problems.ts";
import { brokenFeedsOf, type DaemonState, type LedgerSnapshot } from "../state/state.ts";
import { documentOf } from "./document.ts";
import { headlineBox, type Tone } from "./headline-box.ts";
import { failingSection, heldRefreshSection, heldSection, rejectedSection } from "./held-and-failing.ts";
import { type Content, type Html, html } from "./html.ts";
import { grouped, groupedCount, type PageTime, relative } from "./number-and-time-text.ts";
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
  const [worst = calm(state, now), ...others]: readonly (Calm & Pick<Problem, "see">)[] = problemsOf(
    state,
    now,
  );
  const ofServing = serving && servingSection(serving, standby, at);
  const isServingBroken = brokenFeedsOf(serving).length > 0;
  const main = html`${headlineOf(worst, 1)}${others.map((problem) => headlineOf(problem, 2))}
${ledger && problemSections(ledger, state, at)}${isServingBroken ? ofServing : null}
${current && currentRunSection(current, state.queued, at)}
${runsSection(state, at)}${isServingBroken ? null : ofServing}
${ledger && ledgerSections(ledger, at)}
${aboutSection(state, at)}`;
  return documentOf(
    {
      ...{ name, main, title: worst.sentence, tone: worst.tone, asked: "" },
      refreshSeconds: current ? REFRESH_SECONDS_AT_WORK : REFRESH_SECONDS,
    },
    at,
  );
}

function problemSections(
  { status, names, refreshHold }: LedgerSnapshot,
  { configPath }: DaemonState,
  at: PageTime,
): Html {
  const { held, groups, failing, rejected } = status;
  return html`${held && heldSection(held, names, configPath)}
${refreshHold && heldRefreshSection(refreshHold, configPath)}
${groups.failing > 0 ? failingSection(failing, groups.failing, names, at) : null}
${rejected.length > 0 ? rejectedSection(rejected, names, at) : null}`;
}

function ledgerSections(ledger: LedgerSnapshot, at: PageTime): Html {
  const { status, readAt } = ledger;
  return html`${status.groups.total > 0 ? groupsSection(status, readAt, at) : null}
${tokensSection(ledger, at)}`;
}

const SEE: Readonly<Record<Part, string>> = {
  held: "What is held, and how it is approved",
  refresh: "How the refresh is approved",
  failing: "Why groups fail, and the next tries",
  rejected: "Which rows are rejected, and the reasons",
  serving: "The reason",
};

const headlineOf = ({ tone, sentence, advice, see }: Calm & Pick<Problem, "see">, level: 1 | 2): Content =>
  headlineBox(level, tone, sentence, [
    ...advice,
    ...(see === undefined ? [] : [html`<a href="#${see}">${SEE[see]}</a>`]),
  ]);

/** What the page says first if nothing is wrong. */
interface Calm {
  readonly tone: Tone;
  readonly sentence: string;
  readonly advice: readonly string[];
}

const calmly = (tone: Tone, sentence: string, advice = ""): Calm => ({
  ...{ tone, sentence },
  advice: advice === "" ? [] : [advice],
});

function calm(state: DaemonState, now: Date): Calm {
  const { current, standby, nextRun } = state;
  const [{ kind, sentence }] = healthOfState(state, now);
  if (current) {
    const goesOn = current.run === null ? "A run is about to begin." : "A run is going on.";
    return calmly("busy", goesOn, BEFORE[kind]);
  }
  if (standby) {
    return calmly(
      "idle",
      "Standing by: another instance is at work.",
      "This one takes over when the other one ends or its lease expires.",
    );
  }
  if (nextRun === null) return calmly("idle", "It has been told to stop.");
  if (kind === "empty") return calmly("idle", sentence, `The first sync is due ${relative(nextRun, now)}.`);
  if (kind === "running") return calmly("busy", sentence);
  return calmly("good", sentence, inSyncText(state));
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
