import { errorHelp, remedyOf } from "../../core/failure/error-codes.ts";
import { type IncidentItem, MOST_SHOWN } from "../../core/report/incident-details.ts";
import type { Headline, Incident } from "../../core/report/incidents.ts";
import { type Content, type Html, html } from "../../core/text/html.ts";
import { asSentence } from "../../core/text/printable.ts";
import { headlineBox } from "./headline-box.ts";
import { copied, failureHtml, tenantHtml } from "./html.ts";
import { exactMoment, type PageTime, timedHtml } from "./number-and-time-text.ts";

export interface CardContext {
  readonly at: PageTime;
  readonly configPath: string;
  /** The names of groups, by their ids. */
  readonly names: ReadonlyMap<string, string>;
}

/** What is said of a scope with which nothing is wrong. */
export const wellCard = ({ tone, sentence, advice }: Headline): Html =>
  headlineBox(1, { id: "well", tone, sentence }, advice);

/** All that is said of an incident: what, since when, whom, and what to do. The first one has the page's heading of level 1. */
export function incidentCard(incident: Incident, level: 1 | 2, context: CardContext): Html {
  const { kind, tone, sentence, advice, code, since, help, details } = incident;
  const { at, configPath } = context;
  const when = since ? html`Since ${exactMoment(since, at)}` : null;
  const isKnown = code !== null && errorHelp(code) !== undefined;
  const explained = isKnown ? [{ when: `What ${code} means`, command: `groupsync help ${code}` }] : [];
  return headlineBox(
    level,
    { id: kind, tone, sentence },
    [...advice, when],
    [
      details ? html`<h${level + 1}>${details.whom}</h${level + 1}>` : null,
      details
        ? html`<ul class="incident">${details.items.map((item, index) => itemHtml(item, `${kind}-${index}`, context))}${details.more && html`<li>${details.more}</li>`}</ul>`
        : null,
      ...[...help, ...explained].map(({ when, command, ...more }) => [
        html`<p>${when}:</p>${copied(command, configPath)}`,
        "note" in more ? html`<p class="note">${more.note ?? null}</p>` : null,
      ]),
    ],
  );
}

/** What has failed in the same way, what helps, and whom it concerns: ten at first. */
function itemHtml(
  { label, tenants, others, failure, note }: IncidentItem,
  id: string,
  context: CardContext,
): Html {
  const [shown, folded] = [tenants.slice(0, MOST_SHOWN), tenants.slice(MOST_SHOWN)];
  const linked = (ids: readonly string[]): Content =>
    ids.map(
      (tenant, index) => html`${index > 0 ? ", " : ""}${tenantHtml(tenant, context.names.get(tenant))}`,
    );
  const more = others > 0 ? ` and ${others} more` : "";
  const why =
    failure &&
    html`<p>${failureHtml(failure)}</p><p>${asSentence(remedyOf(failure.code))}</p><p class="note">${timedHtml(note, (date) => exactMoment(date, context.at))}</p>`;
  const fold = html`<details id="${id}"><summary>${folded.length} more of these are known</summary>${linked(folded)}</details>`;
  return html`<li><div>${label} ${linked(shown)}${more}</div>${folded.length > 0 ? fold : null}${why ?? null}</li>`;
}
