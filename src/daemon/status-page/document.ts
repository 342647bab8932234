import { createHash } from "node:crypto";
import { shellWord } from "../../core/text/printable.ts";
import { type Content, type Html, html, trusted } from "./html.ts";
import { instant, type PageTime, roundText } from "./number-and-time-text.ts";
import { STYLE } from "./style.ts";

interface PageParts {
  /** The scope. */
  readonly name: string;
  readonly title: string;
  readonly tone: Tone;
  /** What is in the box that finds a tenant. */
  readonly asked: string;
  readonly main: Content;
  /** After how long the page is to be asked for anew; null if never. */
  readonly refreshSeconds: number | null;
}

/** A whole page as HTML, to be sent with `pageHeaders`. It loads nothing, and has nothing that could change anything. */
export const documentOf = (
  { name, title, tone, asked, main, refreshSeconds }: PageParts,
  at: PageTime,
): string =>
  html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<title>${title} – groupsync ${name}</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${refreshSeconds && html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>`}
<link rel="icon" href="${iconOf(tone)}">
<style>${trusted(STYLE)}</style></head>
<body${refreshSeconds && html` data-refresh="${refreshSeconds}"`}><header><p class="product">groupsync</p><p>${name}</p><p class="zone">Times in ${at.timeZone}</p>
${findBox(asked, refreshSeconds === null)}</header>
<main>${main}</main>
<footer><p>As of ${instant(at.now, at)}${refreshSeconds && `; refreshed every ${roundText(refreshSeconds * 1000)}`}</p></footer>
${refreshSeconds && html`<script>${trusted(REFRESH)}</script>`}</body></html>
`.markup;

const findBox = (asked: string, hasWayBack: boolean): Html =>
  html`<form role="search"><label for="tenant">Find a tenant</label><input id="tenant" name="tenant" type="search" value="${asked}" placeholder="its id" required autocomplete="off" autocapitalize="none" spellcheck="false"><button>Find</button>${hasWayBack ? html`<a href="?">Status page</a>` : null}</form>`;

/** Asks for the page anew, but not while somebody writes an id. A browser without scripts goes by the meta element. */
const REFRESH = `setInterval(()=>{const box=document.getElementById("tenant");
if(document.activeElement!==box&&box.value==="")location.reload()},document.body.dataset.refresh*1000)`;

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** The headers to send with a page. They allow the page's own style, script, icon and form, and nothing else. */
export const pageHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    `style-src ${hashOf(STYLE)}`,
    `script-src ${hashOf(REFRESH)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
};

/** From `good` (nothing to do) to `bad` (somebody is needed now). */
export type Tone = "good" | "idle" | "busy" | "attention" | "bad";

/** In characters. */
const LONG_SENTENCE = 80;

/** A sentence in a box of its tone, with paragraphs below it. A page has one box of level 1. */
export function headlineBox(
  level: 1 | 2,
  tone: Tone,
  sentence: string,
  paragraphs: readonly Content[],
): Html {
  const long = sentence.length > LONG_SENTENCE ? html` class="long"` : null;
  const text = html`<bdi>${sentence}</bdi>`;
  return html`<div class="headline ${tone}${level === 2 ? " also" : ""}"><svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="10.5"/><path d="${SYMBOLS[tone]}"/></svg>
${level === 1 ? html`<h1${long}>${text}</h1>` : html`<h2>${text}</h2>`}${paragraphs.map((paragraph) => html`<p>${paragraph}</p>`)}</div>`;
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
function iconOf(tone: Tone): string {
  const svg = html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="12" fill="${ICON_COLOURS[tone]}"/><path d="${SYMBOLS[tone]}" fill="none" stroke="#fff" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg.markup)}`;
}

/** A command to copy, `groupsync …`, with the config file that the daemon works by. */
export const copied = (command: string, configPath: string): Html =>
  html`<pre><code>${command.replace(/^groupsync\b/, () => `groupsync --config ${shellWord(configPath)}`)}</code></pre>`;
