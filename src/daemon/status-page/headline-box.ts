import type { Tone } from "../../core/report/incidents.ts";
import { type Content, type Html, html } from "../../core/text/html.ts";

/** In characters. */
const LONG_SENTENCE = 80;

interface Sentence {
  readonly id: string;
  readonly tone: Tone;
  readonly sentence: string;
}

/** A sentence in a box of its tone, with paragraphs below it, and whatever else. A page has one box of level 1. */
export function headlineBox(
  level: 1 | 2,
  { id, tone, sentence }: Sentence,
  paragraphs: readonly Content[],
  more: Content = null,
): Html {
  const long = sentence.length > LONG_SENTENCE ? html` class="long"` : null;
  const text = html`<bdi>${sentence}</bdi>`;
  return html`<div class="headline ${tone}${level === 2 ? " also" : ""}" id="${id}"><svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="10.5"/><path d="${SYMBOLS[tone]}"/></svg>
${level === 1 ? html`<h1${long}>${text}</h1>` : html`<h2>${text}</h2>`}${paragraphs.map((paragraph) => paragraph && html`<p>${paragraph}</p>`)}${more}</div>`;
}

/** Each tone has a symbol too, because many people can't tell the colours apart. */
const SYMBOLS: Readonly<Record<Tone, string>> = {
  good: "M7 12.5l3.5 3.5L17 9",
  idle: "M12 6.5V12l3.5 2",
  busy: "M7 12h.01M12 12h.01M17 12h.01",
  attention: "M12 6.5v6.5M12 17h.01",
  bad: "M8 8l8 8M16 8l-8 8",
};

const ICON_COLOURS: Readonly<Record<Tone, string>> = {
  good: "#1f8a54",
  idle: "#6b7683",
  busy: "#2470c4",
  attention: "#b27a00",
  bad: "#c0291f",
};

/** The icon in the browser's tab shows the tone. */
export function iconOf(tone: Tone): string {
  const svg = html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="12" fill="${ICON_COLOURS[tone]}"/><path d="${SYMBOLS[tone]}" fill="none" stroke="#fff" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg.markup)}`;
}
