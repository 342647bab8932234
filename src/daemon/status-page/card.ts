import { errorHelp, remedyOf } from "../../core/failure/error-codes.ts";
import {
  type Card,
  type ConcernedItem,
  helpOf,
  MOST_SHOWN,
  paragraphsOf,
  type Tone,
} from "../../core/report/card.ts";
import { type Html, html } from "../../core/text/html.ts";
import { asSentence, withConfig } from "../../core/text/printable.ts";
import { type PageContext, tenantHtml, textHtml } from "./html.ts";

/** In characters. */
const LONG_SENTENCE = 80;

/** A box with all that is said by a card. A page has one card of level 1, whose sentence is its heading. */
export function cardHtml(card: Card, level: 1 | 2, page: PageContext): Html {
  const { kind, tone, sentence, concerned } = card;
  const long = sentence.length > LONG_SENTENCE ? html` class="long"` : null;
  const text = textHtml(sentence, page);
  const items = concerned?.items.map((item, index) => itemHtml(item, `${kind}-${index}`, page)) ?? [];
  const more = concerned && concerned.more > 0 ? html`<li>… and ${concerned.more} more</li>` : null;
  return html`<div class="headline ${tone}${level === 2 ? " also" : ""}" id="${kind}"><svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="10.5"/><path d="${SYMBOLS[tone]}"/></svg>
${level === 1 ? html`<h1${long}>${text}</h1>` : html`<h2>${text}</h2>`}
${paragraphsOf(card, page.configPath).map((paragraph) => html`<p>${textHtml(paragraph, page)}</p>`)}
${concerned ? html`<h${level + 1}>${concerned.whom}</h${level + 1}><ul class="incident">${items}${more}</ul>` : null}
${helpOf(card, page.configPath).map(({ when, command }) => html`<p>${when}:</p>${copied(command)}`)}
${linksHtml(card, page)}</div>`;
}

/** Where the docs say more of the card's code, if anybody knows where the docs are. */
function linksHtml({ code }: Card, { docsUrl }: PageContext): Html {
  const links = docsUrl === null || code === null ? [] : (errorHelp(code)?.links ?? []);
  return html`${links.map((link) => html`<p>Read <a href="${docsUrl}/${link}">${link}</a></p>`)}`;
}

/** What has failed in the same way, what helps, and whom it concerns: ten at first. */
function itemHtml(item: ConcernedItem, id: string, page: PageContext): Html {
  const { label, count, tenants, failure, note = "" } = item;
  const linked = (ids: readonly string[]): Html =>
    html`${ids.map((tenant, index) => html`${index > 0 ? ", " : ""}${tenantHtml(tenant, page)}`)}`;
  const folded = tenants.slice(MOST_SHOWN);
  const unknown = tenants.length > 0 && count > tenants.length ? ` and ${count - tenants.length} more` : "";
  return html`<li><div>${label} ${linked(tenants.slice(0, MOST_SHOWN))}${unknown}</div>
${folded.length > 0 ? html`<details id="${id}"><summary>${folded.length} more of these are known</summary>${linked(folded)}</details>` : null}
${failure ? html`<p><span class="code">${failure.code}:</span> ${textHtml(failure.message, page)}</p><p>${withConfig(asSentence(remedyOf(failure.code)), page.configPath)}</p>` : null}
<p class="note">${textHtml(note, page)}</p></li>`;
}

const copied = (command: string): Html =>
  html`<div class="copied"><pre><code>${command}</code></pre><button type="button" class="copy">Copy</button></div>`;

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
