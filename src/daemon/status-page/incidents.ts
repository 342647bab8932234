import { remedyOf } from "../../core/failure/error-codes.ts";
import type { IncidentDetails, IncidentItem } from "../../core/report/incident-details.ts";
import type { Headline, Incident } from "../../core/report/incidents.ts";
import { type Content, type Html, html } from "../../core/text/html.ts";
import { asSentence, printable, printableId } from "../../core/text/printable.ts";
import { headlineBox } from "./headline-box.ts";
import { copied, failureHtml, outside } from "./html.ts";
import { exactMoment, grouped, type PageTime, timedHtml } from "./number-and-time-text.ts";

/** The names of groups, by their ids. */
type Names = ReadonlyMap<string, string>;

/** What is said first, or below. It leads to the section that says more of it. */
export function headlineHtml(shown: Headline | Incident, level: 1 | 2, at: PageTime): Html {
  const since = "since" in shown && shown.since ? html`Since ${exactMoment(shown.since, at)}` : null;
  const section = "kind" in shown ? sectionOf(shown) : null;
  const link = section && html`<a href="#${section.id}">${section.title}: see below</a>`;
  const more = [since, link].filter((paragraph) => paragraph !== null);
  return headlineBox(level, shown.tone, shown.sentence, [...shown.advice, ...more]);
}

/** Where the page says more of it: in a section of its own, or in the one about single tenants. */
function sectionOf({ kind, details }: Incident): { readonly id: string; readonly title: string } | null {
  if (details) return { id: kind, title: details.title };
  return kind === "waiting" || kind === "unnoticed" ? { id: "serving", title: "Between two syncs" } : null;
}

/** The groups or rows that an incident is about, and the command that helps. Null if there are no details. */
export const detailsSection = (
  { kind, details }: Incident,
  names: Names,
  configPath: string,
  at: PageTime,
): Html | null =>
  details
    ? html`<section aria-labelledby="${kind}"><h2 id="${kind}">${details.title} <span class="count">${grouped(details.count)}</span></h2>
${helpHtml(details.help, configPath)}<ul class="incident">${details.items.map((item) => itemHtml(item, names, at))}${moreHtml(details.more)}</ul></section>`
    : null;

const helpHtml = (help: IncidentDetails["help"], configPath: string): Content =>
  help
    ? html`<p>${help.when}:</p>
${copied(help.command, configPath)}
<p class="note">${help.note ?? null}</p>
`
    : null;

function itemHtml({ label, tenants, others, failure, note }: IncidentItem, names: Names, at: PageTime): Html {
  const who = tenants.map((id, index) => html`${index > 0 ? ", " : ""}${tenantHtml(id, names)}`);
  const title = html`${label} ${who}${others > 0 ? ` and ${grouped(others)} more` : ""}`;
  if (!failure) return html`<li>${title}</li>`;
  const { code, message } = failure;
  return html`<li><h3>${title}</h3>
<p>${failureHtml({ code, message })}</p>
<p>${asSentence(remedyOf(code))}</p>
<p class="note">${timedHtml(note, (date) => exactMoment(date, at))}</p></li>`;
}

/** An id that leads to what is known of the tenant, and the name of its group. */
function tenantHtml(id: string, names: Names): Html {
  const name = names.get(id);
  const link = html`<a class="id" href="?${new URLSearchParams({ tenant: id }).toString()}">${outside(printableId(id))}</a>`;
  return name === undefined ? link : html`${link} <bdi class="name">${printable(name)}</bdi>`;
}

const moreHtml = ({ count, command }: IncidentDetails["more"]): Content =>
  count > 0
    ? html`<li class="more">… and ${grouped(count)} more: <code>${command}</code> lists them</li>`
    : null;
