import { SyncError } from "../../core/failure/sync-error.ts";
import { type Card, type ConcernedItem, cardOf, type View } from "../../core/report/card.ts";
import type { DaemonState } from "../../core/report/scope-facts.ts";
import { asSentence, printableId, shellWord, type TimedText } from "../../core/text/printable.ts";
import { quantity } from "../../core/text/quantity.ts";
import { tenantView } from "../../engine/explain/facts.ts";
import { type FoundTenant, MOST_FOUND } from "../../engine/explain/find-tenants.ts";
import { documentOf } from "./document.ts";
import type { Lookup } from "./page-lookups.ts";

/**
 * One tenant, as `groupsync explain` explains it; or why it can't be explained; or the tenants whose ids or names begin as the text
 * that was asked for.
 */
export function tenantPage(asked: string, lookup: Lookup, state: DaemonState, now: Date): string {
  const found = lookup instanceof SyncError || "user_group_id" in lookup ? [] : lookup;
  const names = new Map(found.flatMap(({ user_group_id: id, name }) => (name === null ? [] : [[id, name]])));
  const parts = { asked, refreshSeconds: null, drawings: {} };
  return documentOf(viewOf(asked, lookup, state), { ...state, now, names }, parts);
}

function viewOf(asked: string, lookup: Lookup, daemon: DaemonState): View {
  if (lookup instanceof SyncError) return { cards: [failedCard(asked, lookup)], sections: [] };
  if ("user_group_id" in lookup) return tenantView(lookup, whenMade(daemon));
  return { cards: [foundCard(asked, lookup)], sections: [] };
}

/** When a tenant that is new gets its group. */
function whenMade({ current, nextRun }: DaemonState): TimedText {
  if (current !== null) return "A run is under way now.";
  return nextRun ? ["The next sync begins at ", nextRun, "."] : "";
}

function failedCard(asked: string, { code, message, hint = "" }: SyncError): Card {
  const advice = [`${code}: ${message}`, asSentence(hint)];
  if (code === "UNKNOWN_ID") return cardOf("tenant", "idle", "There is no such tenant", { advice });
  return cardOf(
    "tenant",
    code === "TOO_MANY_LOOKUPS" ? "idle" : "bad",
    `${printableId(asked)} can't be explained`,
    {
      ...{ advice, code },
      help: [
        {
          when: "To ask without the limits of this page",
          command: `groupsync explain -- ${shellWord(asked)}`,
        },
      ],
    },
  );
}

/** A list, with links to the tenants' own pages. */
function foundCard(text: string, tenants: readonly FoundTenant[]): Card {
  const items = tenants.slice(0, MOST_FOUND).map(
    ({ user_group_id, state }): ConcernedItem => ({
      label: "",
      count: 1,
      tenants: [user_group_id],
      note: state,
    }),
  );
  const isAll = items.length === tenants.length;
  const what = `${isAll ? "" : "the first "}${quantity(items.length, "tenant")} whose id or name begins with ${printableId(text)}`;
  return cardOf("tenant", "idle", asSentence(what), {
    advice: isAll ? [] : ["There are more: write more of it."],
    concerned: { whom: "Tenants", items, more: 0 },
  });
}
