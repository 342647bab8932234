import { durationOf, type Hour, hoursOf } from "../../core/report/hours.ts";
import { headlineIfWell, incidentsOf } from "../../core/report/incidents.ts";
import type { PastRun } from "../../core/report/scope-facts.ts";
import { type Section, sectionsOf } from "../../core/report/sections.ts";
import { type Html, html } from "../../core/text/html.ts";
import { quantity } from "../../core/text/quantity.ts";
import { type DaemonState, factsOf } from "../state/state.ts";
import { incidentCard, wellCard } from "./card.ts";
import { documentOf } from "./document.ts";
import { factsHtml } from "./html.ts";
import { clockTime, exactMoment, moment, type PageTime, took } from "./number-and-time-text.ts";

const REFRESH_SECONDS = 30;
const REFRESH_SECONDS_AT_WORK = 5;

/** The status page: all that is wrong first, then whom to ring, what is under way, and what else there is, folded away. */
export function statusPage(state: DaemonState, now: Date): string {
  const { name, configPath, current, ledger, timezone: timeZone } = state;
  const at = { now, timeZone };
  const facts = factsOf(state);
  const incidents = incidentsOf(facts, now);
  const headline = incidents[0] ?? headlineIfWell(facts, now);
  const names = ledger?.names ?? new Map<string, string>();
  const cards = incidents.map((incident, index) =>
    incidentCard(incident, index === 0 ? 1 : 2, { at, configPath, names }),
  );
  const [strip, ...sections] = sectionsOf(facts, now).map((section) =>
    sectionHtml(section, state, facts.runs, at),
  );
  const main = html`${cards[0] ?? wellCard(headline)}
${strip ?? null}${cards.slice(1)}
${sections}`;
  const refreshSeconds = current ? REFRESH_SECONDS_AT_WORK : REFRESH_SECONDS;
  return documentOf(
    { name, main, title: headline.sentence, tone: headline.tone, asked: "", refreshSeconds },
    at,
  );
}

function sectionHtml(
  { id, title, facts }: Section,
  { current, ledger }: DaemonState,
  runs: readonly PastRun[],
  at: PageTime,
): Html {
  const heading = html`<h2 id="${id}-title">${title}</h2>`;
  const list = (look: "strip" | "facts") =>
    factsHtml(facts, look, (date) => (look === "strip" ? moment(date, at) : exactMoment(date, at)));
  switch (id) {
    case "dependencies":
      return html`<section id="${id}" aria-labelledby="${id}-title">${heading}${list("strip")}</section>`;
    case "now": {
      const { done = 0, total = 0 } = current ?? {};
      const bar = html`<progress max="${total}" value="${Math.min(done, total)}" aria-labelledby="${id}-title"></progress>`;
      return html`<section id="${id}" aria-labelledby="${id}-title">${heading}${total > 0 ? bar : null}${list("facts")}</section>`;
    }
    case "runs":
      return html`<section id="${id}" aria-labelledby="${id}-title">${heading}${list("facts")}${historyHtml(runs, at)}</section>`;
    case "more":
      return html`<details class="section" id="${id}"><summary><h2>${title}</h2></summary>${list("facts")}${ledger && ledger.groups.total > 0 ? LEGEND : null}</details>`;
  }
}

const LEGEND = html`<p class="note">Under way: a call was sent, and its outcome is not known. In doubt: the ledger went back in time, or
somebody ran sync --refresh, and the service has not been asked for the group since. Missing: the tenant is gone, and the group is
still there. Wanted: somebody has asked for a new token. Unverified: nothing has shown yet that the service took a change.
Rejected rows: no group can be made of them, and their groups stay as they are.</p>`;

const HOURS_SHOWN = 24;

/** The last day, a cell for each hour, and the longest run. */
function historyHtml(all: readonly PastRun[], at: PageTime): Html | null {
  const hours = hoursOf(all, at.now, HOURS_SHOWN);
  const runs = hours.flatMap((hour) => hour.runs);
  const [first] = runs;
  if (!first) return null;
  const longest = runs.reduce((long, run) => (durationOf(run) > durationOf(long) ? run : long), first);
  const text = `${quantity(runs.length, "run")} in ${quantity(hours.length, "hour")}; the longest took ${took(durationOf(longest))}, at `;
  return html`<ol class="hours" aria-label="Runs by hour">${hours.map((hour) => hourHtml(hour, at))}</ol>
<p class="note">${text}${clockTime(longest.startedAt, at)}</p>`;
}

const WORST = { none: "no run", ok: "all well", partial: "needs attention", failed: "failed" } as const;

function hourHtml({ from, runs, worst }: Hour, at: PageTime): Html {
  const count = runs.length > 0 ? `${quantity(runs.length, "run")}, ` : "";
  const text = `${clockTime(from, at)}: ${count}${WORST[worst]}`;
  return html`<li class="${worst}" title="${text}"><span class="unseen">${text}</span></li>`;
}
