import type { Fact } from "../../core/report/card.ts";
import type { DaemonState } from "../../core/report/scope-facts.ts";
import { type Content, type Html, html } from "../../core/text/html.ts";
import { printable, printableId, type TimedText } from "../../core/text/printable.ts";

export interface PageContext extends Pick<DaemonState, "name" | "timezone" | "configPath" | "docsUrl"> {
  readonly now: Date;
  /** The names of groups, by their ids. */
  readonly names: ReadonlyMap<string, string>;
}

/** In characters. */
const LONGEST_TEXT = 2_000;

/**
 * Words for people, which may come from outside: <bdi> keeps what is written from right to left from turning the text around it.
 * A long host or path may break behind a dot or a slash.
 */
export const textHtml = (text: TimedText, page: PageContext): Html =>
  html`<bdi>${[text].flat().map((part) => (part instanceof Date ? timeHtml(part, page) : breakable(printable(part, LONGEST_TEXT))))}</bdi>`;

const breakable = (text: string): Content =>
  text.split(/(?<=\w[./])(?=\w)/).map((part, index) => (index > 0 ? html`<wbr>${part}` : part));

/** A time in the page's time zone, and in parentheses its distance from now. In the strip the distance stands alone. */
function timeHtml(date: Date, page: PageContext): Html {
  const exact = exactTime(date, page);
  return html`<time datetime="${date.toISOString()}" title="${exact}"><span class="exact">${exact} (</span>${relative(date, page.now)}<span class="exact">)</span></time>`;
}

/** `2026-03-01 09:30:00`. The Swedish write dates as ISO 8601 does. */
export const exactTime = (date: Date, { timezone: timeZone }: PageContext): string =>
  date.toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });

/** The distance of a time from now, in one unit: `42 s ago`, `in 2 h`, `5 days ago`. Number and unit stay in one line. */
function relative(date: Date, now: Date): string {
  const ms = date.getTime() - now.getTime();
  if (Math.abs(ms) < 500) return "now";
  const distance = distanceText(Math.abs(ms)).replace(" ", "\u00a0");
  return ms > 0 ? `in ${distance}` : `${distance} ago`;
}

function distanceText(ms: number): string {
  if (ms < 59_500) return `${Math.round(ms / 1_000)} s`;
  if (ms < 3_570_000) return `${Math.round(ms / 60_000)} min`;
  const hours = Math.round(ms / 3_600_000);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

/** An id that leads to what is known of the tenant, and the name of its group if that is known. */
export function tenantHtml(id: string, { names }: PageContext): Html {
  const link = html`<a class="id" href="?${new URLSearchParams({ tenant: id }).toString()}"><bdi>${printableId(id)}</bdi></a>`;
  const name = names.get(id);
  return name === undefined ? link : html`${link} <bdi class="name">${printable(name)}</bdi>`;
}

/** Facts with a label each. `look`: the class of the list. */
export const factsHtml = (facts: readonly Fact[], look: "strip" | "facts", page: PageContext): Html =>
  html`<dl class="${look}">${facts.map(({ label, value, tone, details = "" }) => html`<div class="${tone ?? null}"><dt><bdi>${label}</bdi></dt><dd>${textHtml(value, page)}</dd>${details.length === 0 ? null : html`<dd class="note">${textHtml(details, page)}</dd>`}</div>`)}</dl>`;
