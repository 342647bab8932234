import type { DaemonState } from "../state/state.ts";
import { type Headline, headlineOf, type Tone } from "./headline.ts";
import { failingSection, heldSection, rejectedSection } from "./held-and-failing.ts";
import { type Html, html, trusted } from "./html.ts";
import { runChart } from "./run-chart.ts";
import { aboutSection, currentRunSection, groupsSection, madeText, runsSection } from "./sections.ts";
import { servingSection } from "./serving-section.ts";
import { STYLE } from "./style.ts";
import { tokenAges } from "./token-ages.ts";

export { statusPageHeaders } from "./style.ts";

const REFRESH_SECONDS = 30;
const REFRESH_SECONDS_AT_WORK = 5;

/**
 * The whole status page as HTML, to be sent with `statusPageHeaders`. It loads nothing, runs no script, and has nothing
 * that could change anything.
 */
export function statusPage(state: DaemonState, now: Date): string {
  const headline = headlineOf(state, now);
  const refresh = state.current ? REFRESH_SECONDS_AT_WORK : REFRESH_SECONDS;
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<title>${headline.sentence} – groupsync ${state.name}</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta http-equiv="refresh" content="${refresh}">
<link rel="icon" href="${iconOf(headline.tone)}">
<style>${trusted(STYLE)}</style></head>
<body><header><p class="product">groupsync</p><p>${state.name}</p><p class="version">${state.version}</p></header>
<main>${headlineBox(headline)}
${state.current && currentRunSection(state.current, now)}
${ledgerParts(state, now)}
${aboutSection(state, now)}</main>
<footer><p>${madeText(now, refresh)}</p></footer></body></html>
`.markup;
}

function ledgerParts(state: DaemonState, now: Date): Html {
  const { serving, standby } = state;
  const runs = html`${runsSection(state, now)}
${serving && servingSection(serving, standby, now)}`;
  if (!state.ledger) return runs;
  const { status, readAt, history, tokenAges: ages } = state.ledger;
  return html`${status.held && heldSection(status.held)}
${runs}${status.groups.total > 0 ? groupsSection(status, readAt, now) : null}
${history.length > 0 ? section("history", "Last seven days", runChart(history, now, state.current?.run ?? null)) : null}
${status.groups.failing > 0 ? failingSection(status.failing, status.groups.failing, now) : null}
${status.rejected.length > 0 ? rejectedSection(status.rejected, now) : null}
${ages.some(({ groups }) => groups > 0) ? section("tokens", "Tokens", tokenAges(ages)) : null}`;
}

const section = (id: string, title: string, content: Html): Html =>
  html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>${content}</section>`;

const LONG_SENTENCE = 80;

const SEE: Readonly<Record<NonNullable<Headline["see"]>, string>> = {
  held: "What is held, and how it is approved",
  failing: "The reasons, and the next tries",
  rejected: "Which rows, and the reasons",
  serving: "The reason",
};

const headlineBox = ({ tone, sentence, advice, see }: Headline): Html =>
  html`<div class="headline ${tone}"><svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="10.5"/><path d="${SYMBOLS[tone]}"/></svg>
<h1${sentence.length > LONG_SENTENCE ? html` class="long"` : null}><bdi>${sentence}</bdi></h1>${advice.map((line) => html`<p>${line}</p>`)}${see && html`<p><a href="#${see}">${SEE[see]}</a></p>`}</div>`;

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
