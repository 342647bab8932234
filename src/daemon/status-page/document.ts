import { createHash } from "node:crypto";
import type { Tone } from "../../core/report/incidents.ts";
import { type Content, type Html, html, trusted } from "../../core/text/html.ts";
import { iconOf } from "./headline-box.ts";
import { instant, type PageTime, roundText } from "./number-and-time-text.ts";
import { SCRIPT } from "./script.ts";
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
<body${refreshSeconds && html` data-refresh="${refreshSeconds}"`}><a class="skip" href="#main">Skip to the content</a>
<header><p class="product">groupsync</p><p>${name}</p><p class="zone">Times in ${at.timeZone}</p>
${findBox(asked, refreshSeconds === null)}</header>
<p id="late" class="bad" hidden></p>
<main id="main" tabindex="-1">${main}</main>
<footer><p>As of ${instant(at.now, at)}${refreshSeconds && `; refreshed every ${roundText(refreshSeconds * 1000)}`}</p></footer>
<script>${trusted(SCRIPT)}</script></body></html>
`.markup;

const findBox = (asked: string, hasWayBack: boolean): Html =>
  html`<form role="search"><label for="tenant">Find a tenant</label><input id="tenant" name="tenant" type="search" value="${asked}" placeholder="its id or name" required autocomplete="off" autocapitalize="none" spellcheck="false"><button>Find</button>${hasWayBack ? html`<a href="?">Status page</a>` : null}</form>`;

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
