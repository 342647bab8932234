import { printable } from "./printable.ts";

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
