import type { Tone } from "../../core/report/incidents.ts";
import { type Content, type Html, html } from "../../core/text/html.ts";
import { asSentence, printableId, shellWord, type TimedText } from "../../core/text/printable.ts";
import { quantity } from "../../core/text/quantity.ts";
import type { Explanation } from "../../engine/explain/explain-tenant.ts";
import { factsOf, LONGEST } from "../../engine/explain/facts.ts";
import { type FoundTenant, MOST_FOUND } from "../../engine/explain/find-tenants.ts";
import { standingOf } from "../../engine/explain/standing.ts";
import type { DaemonState } from "../state/state.ts";
import { documentOf } from "./document.ts";
import { headlineBox } from "./headline-box.ts";
import { copied, factsHtml, failureHtml, outside, tenantHtml } from "./html.ts";
import { exactMoment, instant, type PageTime, roundText, timedHtml, took } from "./number-and-time-text.ts";
import type { Lookup } from "./page-lookups.ts";

/**
 * One tenant, as `groupsync explain` explains it; or why it can't be explained; or the tenants whose ids or names begin as the text
 * that was asked for.
 */
export function tenantPage(asked: string, lookup: Lookup, state: DaemonState, now: Date): string {
  const { name, timezone: timeZone } = state;
  const at = { now, timeZone };
  const { tone, title, main } = shownOf(asked, lookup, state, at);
  return documentOf({ name, title, tone, main, asked, refreshSeconds: null }, at);
}

interface Shown {
  readonly tone: Tone;
  readonly title: string;
  readonly main: Html;
}

function shownOf(id: string, lookup: Lookup, daemon: DaemonState, at: PageTime): Shown {
  const unexplained = `${printableId(id)} can't be explained`;
  switch (lookup.kind) {
    case "explained":
      return explained(lookup.explanation, daemon, at);
    case "found":
      return found(id, lookup.tenants);
    case "unknown":
      return headlineAlone("idle", "There is no such tenant", [failureHtml(lookup.error, LONGEST)]);
    case "failed":
      return headlineAlone("bad", unexplained, [failureHtml(lookup.error, LONGEST)]);
    case "slow": {
      const text = `The lookup was given up after ${took(lookup.ms)}. Is a table locked, or a token store slow?`;
      const shown = headlineAlone("bad", unexplained, [text]);
      const help = html`<section aria-labelledby="help"><h2 id="help">What waits for longer</h2>${copied(`groupsync explain -- ${shellWord(id)}`, daemon.configPath)}</section>`;
      return { ...shown, main: html`${shown.main}\n${help}` };
    }
    case "refused": {
      const wait = roundText(Math.max(1_000, lookup.waitMs));
      const text = `groupsync looks up one tenant at a time, ten without a pause and then one every two seconds: try again in ${wait}.`;
      return headlineAlone("idle", `${printableId(id)} was not looked up`, [text]);
    }
    default:
      return lookup satisfies never;
  }
}

const headlineAlone = (tone: Tone, title: string, paragraphs: readonly Content[]): Shown => ({
  tone,
  title,
  main: headlineBox(1, { id: "tenant-title", tone, sentence: title }, paragraphs),
});

/** A list, with links to the tenants' own pages. */
function found(text: string, tenants: readonly FoundTenant[]): Shown {
  const shown = tenants.slice(0, MOST_FOUND);
  const isAll = shown.length === tenants.length;
  const what = `${isAll ? "" : "the first "}${quantity(shown.length, "tenant")} whose id or name begins with ${printableId(text)}`;
  const box = headlineAlone("idle", asSentence(what), [isAll ? null : "There are more: write more of it."]);
  const list = html`<section aria-label="Tenants"><ul>${shown.map(({ user_group_id, name, state }) => html`<li>${tenantHtml(user_group_id, name)} <span class="note">${state}</span></li>`)}</ul></section>`;
  return { ...box, main: html`${box.main}\n${list}` };
}

function explained(explanation: Explanation, daemon: DaemonState, at: PageTime): Shown {
  const { configPath } = daemon;
  const { state, tone, reason, advice, command } = standingOf(explanation);
  const title = `${printableId(explanation.user_group_id)}: ${state.replaceAll("_", " ")}`;
  const { failures } = explanation;
  const main = html`${headlineBox(1, { id: "tenant-title", tone, sentence: title }, [
    html`<bdi>${textHtml(reason, at)}</bdi>`,
    advice === null ? null : outside(advice, LONGEST),
    state === "new" ? whenMade(daemon, at) : null,
  ])}
${command === null ? null : html`<section aria-labelledby="help"><h2 id="help">What helps</h2>${copied(command, configPath)}</section>`}
<section aria-labelledby="facts"><h2 id="facts">What is known</h2>${factsHtml(factsOf(explanation), "facts", (date) => instant(date, at))}</section>
${failures.length === 0 ? null : html`<section aria-labelledby="failures"><h2 id="failures">Why a sync would fail</h2>${failures.map((failure) => html`<p>${failureHtml(failure, LONGEST)}</p>`)}</section>`}
${state === "in_sync" ? askAgain(explanation.user_group_id, configPath) : null}`;
  return { tone, title, main };
}

/** When a tenant that is new gets its group. */
function whenMade({ current, nextRun }: DaemonState, at: PageTime): Content {
  if (current !== null) return "A run is under way now.";
  return nextRun && html`The next sync begins at ${exactMoment(nextRun, at)}.`;
}

/** Ledger and store can't tell that somebody else has changed the token at the service. */
const askAgain = (id: string, configPath: string): Html =>
  html`<section aria-labelledby="help"><h2 id="help">Is its token refused all the same?</h2>${copied(`groupsync sync --refresh --only ${shellWord(id)}`, configPath)}</section>`;

const textHtml = (text: TimedText, at: PageTime): Content => timedHtml(text, (date) => instant(date, at));
