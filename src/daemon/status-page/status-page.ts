import { durationOf, type Hour, hoursOf } from "../../core/report/hours.ts";
import { type DaemonState, factsOf, type PastRun, runsOf } from "../../core/report/scope-facts.ts";
import { scopeView } from "../../core/report/sections.ts";
import { type Html, html } from "../../core/text/html.ts";
import { durationText, quantity } from "../../core/text/quantity.ts";
import { documentOf } from "./document.ts";
import { exactTime, type PageContext } from "./html.ts";

const REFRESH_SECONDS = 30;
const REFRESH_SECONDS_AT_WORK = 5;

/** The status page: all that is wrong first, then whom to ring, what is under way, and what else there is, folded away. */
export function statusPage(state: DaemonState, now: Date): string {
  const { current, ledger } = state;
  const page = { ...state, now, names: ledger?.names ?? new Map() };
  const facts = factsOf(state);
  const { done = 0, total = 0 } = current ?? {};
  const bar = html`<progress max="${total}" value="${Math.min(done, total)}" aria-labelledby="now-title"></progress>`;
  return documentOf(scopeView(facts, now), page, {
    asked: "",
    refreshSeconds: current ? REFRESH_SECONDS_AT_WORK : REFRESH_SECONDS,
    drawings: {
      now: total > 0 ? bar : null,
      runs: historyHtml(runsOf(facts), page),
      more: ledger && ledger.groups.total > 0 ? LEGEND : null,
    },
  });
}

const LEGEND = html`<p class="note">Under way: a call was sent, and its outcome is not known. In doubt: the ledger went back in time, or
somebody ran sync --refresh, and the service has not been asked for the group since. Missing: the tenant is gone, and the group is
still there. Wanted: somebody has asked for a new token. Unverified: nothing has shown yet that the service took a change.
Rejected rows: no group can be made of them, and their groups stay as they are.</p>`;

const HOURS_SHOWN = 24;

/** The last day, a cell for each hour, and the longest run. */
function historyHtml(all: readonly PastRun[], page: PageContext): Html | null {
  const hours = hoursOf(all, page.now, HOURS_SHOWN);
  const runs = hours.flatMap((hour) => hour.runs);
  const [longest] = runs.toSorted((a, b) => durationOf(b) - durationOf(a));
  if (!longest) return null;
  const counted = `${quantity(runs.length, "run")} in ${quantity(hours.length, "hour")}`;
  const text = `${counted}; the longest took ${durationText(durationOf(longest))}, at ${clockTime(longest.startedAt, page)}`;
  return html`<ol class="hours" aria-label="Runs by hour">${hours.map((hour) => hourHtml(hour, page))}</ol>
<p class="note">${text}</p>`;
}

const WORST = { none: "no run", ok: "all well", partial: "needs attention", failed: "failed" } as const;

function hourHtml({ from, runs, worst }: Hour, page: PageContext): Html {
  const count = runs.length > 0 ? `${quantity(runs.length, "run")}, ` : "";
  const text = `${clockTime(from, page)}: ${count}${WORST[worst]}`;
  return html`<li class="${worst}" title="${text}"><span class="unseen">${text}</span></li>`;
}

/** The time of the day: `09:30`. */
const clockTime = (date: Date, page: PageContext): string => exactTime(date, page).slice(11, 16);
