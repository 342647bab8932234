import { rejectedRows } from "../../core/group/rejections.ts";
import { countsText } from "../../core/report/counts.ts";
import { progress, type Queued, queuedText } from "../../core/report/progress.ts";
import { type Content, type Html, html } from "../../core/text/html.ts";
import { GROUP_STATES } from "../../engine/ledger-status.ts";
import type { RunResult } from "../../ports/ledger/scope.ts";
import type { WatchState } from "../changes/watch.ts";
import { type PastRun, pastRuns } from "../state/facts.ts";
import type { CurrentRun, DaemonState, LedgerSnapshot, ServingNow } from "../state/state.ts";
import { feedsOf } from "../state/state.ts";
import { failureHtml, outside } from "./html.ts";
import {
  exactMoment,
  grouped,
  groupedCount,
  instant,
  moment,
  type PageTime,
  roundText,
  took,
} from "./number-and-time-text.ts";

/** The last run, the next run, and the last good sync. */
export function runsSection(state: DaemonState, at: PageTime): Html {
  const { nextRun, lastGoodSync, schedule } = state;
  const last = pastRuns(state).find(({ result }) => result !== null);
  return html`<section aria-labelledby="runs"><h2 id="runs">Runs</h2><dl class="tiles">
${tile("Last run", last ? moment(last.startedAt, at) : "none yet", last?.result ? lastRunText(last, last.result) : null)}
${tile("Next run", nextRun ? moment(nextRun, at) : "none: it is stopping", html`<code>${schedule}</code>`)}
${tile("Last good sync", lastGoodSync ? moment(lastGoodSync, at) : "none yet", goodSyncNote(state, at))}
</dl></section>`;
}

function goodSyncNote({ lastGoodSync, staleAt }: DaemonState, at: PageTime): Content {
  if (lastGoodSync && at.now > staleAt) return html`<strong class="bad">too old</strong>`;
  return html`too old from ${moment(staleAt, at)} on`;
}

function lastRunText({ command, startedAt, finishedAt }: PastRun, result: RunResult): Html {
  const { outcome, counts, requests, error } = result;
  const what = error && outcome === "failed" ? `${error.code}: ${error.message}` : countsText(counts);
  const duration = finishedAt ? ` in ${took(finishedAt.getTime() - startedAt.getTime())}` : "";
  return html`<strong class="outcome ${outcome}">${command} ${outcome}</strong> ${outside(what || "nothing to do")}; ${grouped(requests)} ${requests === 1 ? "request" : "requests"}${duration}`;
}

/** How many groups are in each state, and when the ledger was read. */
export function groupsSection({ groups, rejected, readAt }: LedgerSnapshot, at: PageTime): Html {
  return html`<section aria-labelledby="groups"><h2 id="groups">Groups</h2><dl class="numbers">
${number("in all", groups.total)}${GROUP_STATES.map((state) => number(state.replace("_", " "), groups[state], state === "failing" ? "bad" : ""))}
${number("rejected rows", rejectedRows(rejected), "bad")}
</dl><p class="note">As the ledger was ${exactMoment(readAt, at)}. In doubt: the ledger went back in time, or
somebody ran sync --refresh, and the service has not been asked for the group since. Missing: the tenant is gone, and the group is still there. Wanted:
somebody has asked for a new token. Unverified: nothing has shown yet that the service took a change. Rejected rows: no
group can be made of them, and their groups stay as they are.</p></section>`;
}

/** Progress of the run that is under way. */
export function currentRunSection(
  { since, run, done, total, waiting }: CurrentRun,
  queued: Queued | null,
  at: PageTime,
): Html {
  const { leftMs } = progress({ done, total }, at.now.getTime() - since.getTime());
  const left = leftMs !== undefined && done < total ? `, about ${roundText(leftMs)} left` : "";
  return html`<section aria-labelledby="now"><h2 id="now">Current run</h2>
${total > 0 ? html`<progress max="${total}" value="${Math.min(done, total)}" aria-labelledby="now"></progress>` : null}
<p>${workText(run, done, total)}${left}</p>
<p class="note">Began ${exactMoment(since, at)}</p>
${waiting && html`<p class="note">Waits until ${instant(waiting.until, at)}: ${outside(waiting.reason)}</p>`}${queued && html`<p class="note">${queuedText(queued)}</p>`}</section>`;
}

function workText(run: CurrentRun["run"], done: number, total: number): string {
  if (run === null) return "Waiting for the lease";
  return total > 0 ? `${grouped(done)} of ${grouped(total)} done` : "Reading the source and comparing";
}

/** Version, lease and service: what a bug report needs. */
export function aboutSection(state: DaemonState, at: PageTime): Html {
  const { ledger, version, configPath, startedAt, skippedRuns, lastAnswer } = state;
  const service = ledger?.service;
  const unsynced = ledger?.oldestUnsynced;
  return html`<section aria-labelledby="about"><h2 id="about">About</h2><dl class="about">
${entry("Version", version)}${entry("Config", outside(configPath))}
${entry("Lease", leaseText(state, at))}
${service?.baseUrl ? entry("Service", html`${service.baseUrl} <small>team ${service.teamId ?? "not known yet"}</small>`) : null}
${lastAnswer ? entry("Last good answer", moment(lastAnswer, at)) : null}
${unsynced ? entry("Oldest unsynced", moment(unsynced, at)) : null}
${entry("Up since", moment(startedAt, at))}
${entry("Skipped runs", html`${grouped(skippedRuns)} <small>during runs</small>`)}
</dl></section>`;
}

function leaseText({ current, standby, ledger }: DaemonState, at: PageTime): Content {
  if (current?.run) return "held by this instance";
  if (standby) return outside(standby.message);
  const lease = ledger?.lease;
  if (!lease) return ledger ? "free" : "not known yet";
  return html`${outside(lease.holder)}, since ${exactMoment(lease.acquiredAt, at)}`;
}

/** Whether single tenants are noticed and served between two full syncs. */
export function servingSection(serving: ServingNow, standby: DaemonState["standby"], at: PageTime): Html {
  return html`<section aria-labelledby="serving"><h2 id="serving">Between two syncs</h2><dl class="tiles">
${feedsOf(serving).map(({ key, state }) => feedTile(key, state, at))}
${serving.takesRequests ? tile("POST /sync", standby ? "handed on" : "accepted", standby && "to the instance that holds the lease") : null}
${standby ? null : tile("Longest wait now", serving.oldestMs > 0 ? roundText(serving.oldestMs) : "nobody waits", null)}
</dl></section>`;
}

function feedTile(key: string, state: WatchState | null, at: PageTime): Html {
  const label = html`<code>${key}</code>`;
  if (state === null) return tile(label, "off", FEED_IS_OFF);
  const { since, error } = state;
  const began = html`since ${exactMoment(since, at)}`;
  if (error === null) return tile(label, "works", began);
  return tile(label, html`<strong class="bad">broken</strong>`, html`${began}. ${failureHtml(error)}`);
}

const FEED_IS_OFF = "Another instance holds the lease and notices tenants, or this one begins or stops.";

/** How old the oldest token is, and how many that a sync rotates are older than `rotation.max_age`. */
export function tokensSection({ oldestToken, tooOld }: LedgerSnapshot, { now }: PageTime): Html | null {
  if (oldestToken === null) return null;
  return html`<section aria-labelledby="tokens"><h2 id="tokens">Tokens</h2>
<p>The oldest token is ${roundText(now.getTime() - oldestToken.getTime())} old. ${tooOldText(tooOld)}</p></section>`;
}

function tooOldText(tooOld: LedgerSnapshot["tooOld"]): Html {
  if (tooOld === null) return html`There is no <code>rotation.max_age</code>.`;
  const { maxAgeMs, tokens } = tooOld;
  const text =
    tokens === 0
      ? "no token that a sync rotates is older"
      : html`<strong class="attention">${groupedCount(tokens, "token")} that a sync rotates ${tokens === 1 ? "is" : "are"} older</strong>`;
  return html`<code>rotation.max_age</code> is ${roundText(maxAgeMs)}: ${text}.`;
}

/** A value with its label and a note. */
const tile = (label: Content, value: Content, note: Content): Html =>
  html`<div><dt>${label}</dt><dd>${value}</dd>${note && html`<dd class="note">${note}</dd>`}</div>`;

const number = (label: string, count: number, tone = ""): Html =>
  html`<div class="${count > 0 ? tone : ""}"><dt>${label}</dt><dd>${grouped(count)}</dd></div>`;

const entry = (label: string, value: Content): Html => html`<div><dt>${label}</dt><dd>${value}</dd></div>`;
