import type { FailureWithHint } from "../../core/failure/sync-error.ts";
import { printable, shellWord } from "../../core/text/printable.ts";

/** Markup in which everything from outside is escaped. */
class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

export type { Html };

export type Content = Html | string | number | null | readonly Content[];

/**
 * Builds markup from a template. Values may stand in text or in quoted attributes. Strings are escaped, and characters
 * that are invisible or reorder text are shown as escapes. `Html` stays as it is; null becomes nothing.
 */
export const html = (strings: TemplateStringsArray, ...values: readonly Content[]): Html =>
  new Html(strings.map((part, index) => (index === 0 ? part : markupOf(values[index - 1]) + part)).join(""));

/** Markup of our own, taken as it is. Never for text from outside. */
export const trusted = (markup: string): Html => new Html(markup);

/** In characters. */
const LONGEST_TEXT = 500;

/** Text from outside may be written from right to left. <bdi> keeps it from turning the text around it. */
export const outside = (text: string, maxLength = LONGEST_TEXT): Html =>
  html`<bdi>${printable(text, maxLength)}</bdi>`;

/** What is wrong, and what to do if somebody knows. */
export const failureHtml = ({ code, message, hint }: FailureWithHint, maxLength = LONGEST_TEXT): Html =>
  html`<span class="code">${printable(code)}:</span> ${outside(message, maxLength)}${hint === undefined ? null : html`; ${outside(hint, maxLength)}`}`;

/** A command to copy, `groupsync …`, with the config file that the daemon works by. */
export const copied = (command: string, configPath: string): Html =>
  html`<pre><code>${command.replace(/^groupsync\b/, () => `groupsync --config ${shellWord(configPath)}`)}</code></pre>`;

function markupOf(value: Content | undefined): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Html) return value.markup;
  if (typeof value === "object") return value.map(markupOf).join("");
  return escaped(String(value));
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escaped = (text: string): string =>
  printable(text, Number.POSITIVE_INFINITY).replace(/[&<>"']/g, (char) => ENTITIES[char] ?? "");
