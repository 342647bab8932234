import { createHash } from "node:crypto";
import type { Section, View } from "../../core/report/card.ts";
import { type Content, type Html, html, trusted } from "../../core/text/html.ts";
import { cardHtml, iconOf } from "./card.ts";
import { exactTime, factsHtml, type PageContext } from "./html.ts";
import { SCRIPT } from "./script.ts";
import { STYLE } from "./style.ts";

interface PageParts {
  /** What is in the box that finds a tenant. */
  readonly asked: string;
  /** After how long the page is to be asked for anew; null if never. */
  readonly refreshSeconds: number | null;
  /** What belongs below the facts of a section, by its id. */
  readonly drawings: Readonly<Record<string, Content>>;
}

/** A whole page as HTML, to be sent with `pageHeaders`. It loads nothing, and has nothing that could change anything. */
export function documentOf(
  { cards, sections }: View,
  page: PageContext,
  { asked, refreshSeconds, drawings }: PageParts,
): string {
  const { name, timezone, now } = page;
  const [title = "", tone = "idle"] = cards.map((card) => [card.sentence, card.tone] as const)[0] ?? [];
  const drawnCards = cards.map((card, index) => cardHtml(card, index === 0 ? 1 : 2, page));
  const drawnSections = sections.map((section) => sectionHtml(section, drawings[section.id] ?? null, page));
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<title>${title} – groupsync ${name}</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${refreshSeconds && html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>`}
<link rel="icon" href="${iconOf(tone)}">
<style>${trusted(STYLE)}</style></head>
<body${refreshSeconds && html` data-refresh="${refreshSeconds}"`}><a class="skip" href="#main">Skip to the content</a>
<header><p class="product">groupsync</p><p>${name}</p><p class="zone">Times in ${timezone}</p>
${findBox(asked, refreshSeconds === null)}</header>
<p id="late" class="bad" hidden></p>
<main id="main" tabindex="-1">${drawnCards.slice(0, 1)}${drawnSections.slice(0, 1)}${drawnCards.slice(1)}${drawnSections.slice(1)}</main>
<footer><p>As of ${exactTime(now, page)}${refreshSeconds && `; refreshed every ${refreshSeconds} s`}</p></footer>
<script>${trusted(SCRIPT)}</script></body></html>
`.markup;
}

function sectionHtml({ id, title, facts }: Section, drawing: Content, page: PageContext): Html {
  const list = factsHtml(facts, id === "dependencies" ? "strip" : "facts", page);
  if (id === "more")
    return html`<details class="section" id="${id}"><summary><h2>${title}</h2></summary>${list}${drawing}</details>`;
  return html`<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>${list}${drawing}</section>`;
}

const findBox = (asked: string, hasWayBack: boolean): Html =>
  html`<form role="search"><label for="find">Find a tenant</label><input id="find" name="tenant" type="search" value="${asked}" placeholder="its id or name" required autocomplete="off" autocapitalize="none" spellcheck="false"><button>Find</button>${hasWayBack ? html`<a href="?">Status page</a>` : null}</form>`;

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** The headers to send with a page. They allow its own style, script, icon and form, and to ask for itself, and nothing else. */
export const pageHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    `style-src ${hashOf(STYLE)}`,
    `script-src ${hashOf(SCRIPT)}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
};
