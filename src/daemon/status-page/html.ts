import type { FailureWithHint } from "../../core/failure/sync-error.ts";
import type { Fact } from "../../core/report/sections.ts";
import { type Html, html } from "../../core/text/html.ts";
import { printable, printableId, withConfig } from "../../core/text/printable.ts";
import { timedHtml } from "./number-and-time-text.ts";

/** In characters. */
const LONGEST_TEXT = 500;

/** Text from outside may be written from right to left. <bdi> keeps it from turning the text around it. */
export const outside = (text: string, maxLength = LONGEST_TEXT): Html =>
  html`<bdi>${printable(text, maxLength)}</bdi>`;

/** What is wrong, and what to do if somebody knows. */
export const failureHtml = ({ code, message, hint }: FailureWithHint, maxLength = LONGEST_TEXT): Html =>
  html`<span class="code">${printable(code)}:</span> ${outside(message, maxLength)}${hint === undefined ? null : html`; ${outside(hint, maxLength)}`}`;

/** An id that leads to what is known of the tenant, and the name of its group if that is known. */
export function tenantHtml(id: string, name: string | null = null): Html {
  const link = html`<a class="id" href="?${new URLSearchParams({ tenant: id }).toString()}">${outside(printableId(id))}</a>`;
  return name === null ? link : html`${link} <bdi class="name">${printable(name)}</bdi>`;
}

/** What to copy: a command, `groupsync …`, with the config file that the daemon works by; or a statement for a database. */
export const copied = (command: string, configPath: string): Html =>
  html`<div class="copied"><pre><code>${withConfig(command, configPath)}</code></pre><button type="button" class="copy">Copy</button></div>`;

/** Facts with a label each. `look`: the class of the list. */
export const factsHtml = (
  facts: readonly Fact[],
  look: "strip" | "facts",
  timeHtml: (date: Date) => Html,
): Html =>
  html`<dl class="${look}">${facts.map(({ label, value, tone, details = "" }) => html`<div class="${tone ?? null}"><dt><bdi>${label}</bdi></dt><dd><bdi>${timedHtml(value, timeHtml)}</bdi></dd>${details.length === 0 ? null : html`<dd class="note"><bdi>${timedHtml(details, timeHtml)}</bdi></dd>`}</div>`)}</dl>`;
