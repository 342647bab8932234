import type { KnownService } from "../../ports/ledger/service.ts";
import type { Warning } from "../../ports/observer.ts";

/**
 * Warns if updates will fail, because a probe or an earlier sync has found out that a GET leaves an existing group as it
 * is. `updates` is how many GETs a plan has that should change a group.
 */
export const keptGroupsWarnings = (
  { updates: serviceUpdates }: Pick<KnownService, "updates">,
  updates: number,
): readonly Warning[] =>
  serviceUpdates === false && updates > 0
    ? [
        {
          kind: "warning",
          code: "NOT_UPDATED",
          message: "the service leaves existing groups as they are, so these updates will fail",
          hint: "set service.update to replace, which gives changed groups new tokens, or to never",
        },
      ]
    : [];
