import { printable } from "../../core/text/printable.ts";
import type { WayError } from "../changes/way-state.ts";
import { type NamedWay, type ServedCount, type ServingState, waysOf } from "../state/serving-state.ts";
import type { DaemonState } from "../state/state.ts";
import { type Content, type Html, html } from "./markup/html.ts";
import {
  briefMoment,
  groupedCount,
  type PageTime,
  relative,
  roundText,
  took,
} from "./markup/number-and-time-text.ts";
import { tile } from "./sections.ts";

const LONGEST_MESSAGE = 500;

/** Whether single tenants are noticed and served between two full syncs. */
export function servingSection(serving: ServingState, standby: DaemonState["standby"], at: PageTime): Html {
  return html`<section aria-labelledby="serving"><h2 id="serving">Between two syncs</h2><dl class="tiles">
${waysOf(serving).map((named) => wayTile(named, at))}
${serving.takesRequests ? tile("POST /sync", standby ? "handed on" : "accepted", standby && "to the instance that holds the lease") : null}
${tile("Served", groupedCount(serving.served.count, "tenant"), lastText(serving.served, at.now))}
${standby ? null : tile("Longest wait now", serving.oldestMs > 0 ? roundText(serving.oldestMs) : "nobody waits", null)}
</dl></section>`;
}

function wayTile({ key, state }: NamedWay, at: PageTime): Html {
  const label = html`<code>${key}</code>`;
  switch (state.kind) {
    case "off":
      return tile(
        label,
        "off",
        "Another instance holds the lease and notices tenants, or this one is stopping.",
      );
    case "starting":
      return tile(label, "starting", since(state.since, at));
    case "alive":
      return tile(label, "works", withError(since(state.since, at), state.warning));
    case "broken":
      return tile(
        label,
        html`<strong class="bad">broken</strong>`,
        withError(since(state.since, at), state.error),
      );
  }
}

const withError = (text: Html, error: WayError | undefined): Html =>
  error
    ? html`${text}. <span class="code">${printable(error.code)}:</span> <bdi>${printable(error.message, LONGEST_MESSAGE)}</bdi>${error.hint === undefined ? null : html`; <bdi>${printable(error.hint, LONGEST_MESSAGE)}</bdi>`}`
    : text;

const since = (time: Date, at: PageTime): Html => html`since ${briefMoment(time, at)}`;

function lastText({ last }: ServedCount, now: Date): Content {
  if (last === null) return "since this process began";
  return `the last one ${relative(last.at, now)}, ${took(last.ms)} after it was noticed`;
}
