import { brokenFeedsOf } from "../state/feeds.ts";
import type { Part } from "../state/problems.ts";
import type { DaemonState, LedgerSnapshot } from "../state/state.ts";
import { documentOf } from "./document.ts";
import { type Headline, headlinesOf } from "./headline.ts";
import { headlineBox } from "./headline-box.ts";
import { failingSection, heldRefreshSection, heldSection, rejectedSection } from "./held-and-failing.ts";
import { type Html, html } from "./html.ts";
import type { PageTime } from "./number-and-time-text.ts";
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
${ledger && ledger.status.groups.total > 0 ? groupsSection(ledger, at) : null}
${ledger && tokensSection(ledger, at)}
${aboutSection(state, at)}`;
  const refreshSeconds = current ? REFRESH_SECONDS_AT_WORK : REFRESH_SECONDS;
  return documentOf({ name, main, title: worst.sentence, tone: worst.tone, asked: "", refreshSeconds }, at);
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
