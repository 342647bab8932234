import { headlineIfWell, incidentsOf } from "../../core/report/incidents.ts";
import { html } from "../../core/text/html.ts";
import { factsOf } from "../state/facts.ts";
import { brokenFeedsOf, type DaemonState } from "../state/state.ts";
import { documentOf } from "./document.ts";
import { detailsSection, headlineHtml } from "./incidents.ts";
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
  const { name, configPath, current, ledger, serving, standby, timezone: timeZone } = state;
  const at = { now, timeZone };
  const facts = factsOf(state);
  const incidents = incidentsOf(facts, now);
  const [first = headlineIfWell(facts, now), ...others] = incidents;
  const names = ledger?.names ?? new Map<string, string>();
  const ofServing = serving && servingSection(serving, standby, at);
  const isServingBroken = brokenFeedsOf(serving).length > 0;
  const main = html`${headlineHtml(first, 1, at)}${others.map((incident) => headlineHtml(incident, 2, at))}
${incidents.map((incident) => detailsSection(incident, names, configPath, at))}${isServingBroken ? ofServing : null}
${current && currentRunSection(current, state.queued, at)}
${runsSection(state, at)}${isServingBroken ? null : ofServing}
${ledger && ledger.groups.total > 0 ? groupsSection(ledger, at) : null}
${ledger && tokensSection(ledger, at)}
${aboutSection(state, at)}`;
  const refreshSeconds = current ? REFRESH_SECONDS_AT_WORK : REFRESH_SECONDS;
  return documentOf({ name, main, title: first.sentence, tone: first.tone, asked: "", refreshSeconds }, at);
}
