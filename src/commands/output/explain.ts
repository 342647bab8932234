import { Unusable } from "../../core/group/tenant.ts";
import { plainText } from "../../core/text/printable.ts";
import type { Explanation } from "../../engine/explain/explain-tenant.ts";
import { failuresOf, rowOf, tenantView } from "../../engine/explain/facts.ts";
import { standingOf } from "../../engine/explain/standing.ts";
import { isChange } from "../../engine/plan/plan.ts";
import { messageJson } from "./attention.ts";
import { painter } from "./colours.ts";
import { viewLines } from "./view.ts";

/** One tenant on one page: how it stands and what helps, then a table of all that is known. */
export function explainText(explanation: Explanation, configPath: string, colours: boolean): string {
  const context = { paint: painter(colours), configPath, names: new Map() };
  return `${viewLines(tenantView(explanation), context).join("\n")}\n`;
}

export function explainJson(explanation: Explanation): string {
  const { user_group_id, tenant, group, action, changes, copies, approval } = explanation;
  const { state, reason, advice, command } = standingOf(explanation);
  const { removals, formerTokens } = explanation;
  const object = {
    user_group_id,
    state,
    reason: plainText(reason),
    advice,
    command,
    next_sync: nextSyncJson(action),
    table: explanation.table,
    rows: explanation.rows.map((_, index) =>
      Object.fromEntries(
        rowOf(explanation, index).map(([column, cell]) => [
          column,
          cell instanceof Unusable ? { unusable: cell.reason } : cell,
        ]),
      ),
    ),
    rejected_since: explanation.rejectedSince,
    flagged: tenant?.kind === "flagged",
    desired: tenant?.kind === "desired" ? tenant.group : null,
    confirmed: group?.confirmed ?? null,
    unverified: group?.unverified ?? null,
    last_asked: group?.verifiedAt ?? null,
    changes,
    under_way: group?.intent ? { action: group.intent, since: group.intentAt ?? null } : null,
    held: group?.held ? { action: group.held, code: approval } : null,
    missing: group?.absence ? { absence: group.absence.kind, since: group.absence.since } : null,
    failures: failuresOf(explanation).map(([what, { code, message, since, count, retryAt }]) => ({
      ...{ what, code, message, since, count, retry_at: retryAt },
    })),
    token: {
      fingerprint: group?.tokenFingerprint ?? null,
      since: group?.tokenSince ?? null,
      age_ms: group?.tokenSince ? explanation.now.getTime() - group.tokenSince.getTime() : null,
      rotation_due: explanation.isTokenTooOld,
      destinations: explanation.tokenDestinations,
      stored: copies.kind,
      stored_fingerprint: copies.kind === "another token" ? copies.fingerprint : null,
    },
    history: {
      recorded_since: group?.createdAt ?? null,
      last_change: group?.changedAt ?? null,
      removals: removals.map(({ kind, at }) => ({ action: kind, at })),
      former_tokens: formerTokens.map(({ fingerprint, since, until }) => ({ fingerprint, since, until })),
    },
    failures_of_sync: explanation.failures.map(messageJson),
  };
  return `${JSON.stringify(object)}\n`;
}

function nextSyncJson(action: Explanation["action"]): object | null {
  if (action === null || action.kind === "gone") return null;
  if (isChange(action)) return { action: action.kind };
  return {
    action: "none",
    ...(action.kind === "waiting" && { retry_at: action.retryAt }),
    ...(action.kind === "missing" && { delete_in_ms: action.dueInMs }),
  };
}
