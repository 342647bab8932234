import { printable } from "../../core/printable.ts";

/** Markup that is safe as it is. */
class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

export type { Html };

export type Content = Html | string | number | null | readonly Content[];

/**
 * Markup with values in it, as text or in quoted attributes. Strings are escaped, and what is invisible or reorders
 * text is shown as an escape; markup stays as it is; null is nothing.
 */
export const html = (strings: TemplateStringsArray, ...values: readonly Content[]): Html =>
  new Html(strings.map((part, index) => (index === 0 ? part : markupOf(values[index - 1]) + part)).join(""));

/** Text of our own that goes into the page as it stands. */
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
