import { quantity } from "../../core/text/quantity.ts";
import type { KnownService } from "../../ports/ledger/service.ts";
import type { Warning } from "../../ports/observer.ts";

/** What an operator does about a service that leaves existing groups as they are. */
export const KEEPS_GROUPS =
  "set service.update to replace, which gives changed groups new tokens, or to never";

/**
 * Warns of updates that the service will not make, because a probe or an earlier sync has found out that a GET leaves an
 * existing group as it is. `planned` is how many updates a plan has.
 */
export const keptGroupsWarnings = (
  { updates }: Pick<KnownService, "updates">,
  planned: number,
): readonly Warning[] =>
  updates === false && planned > 0
    ? [
        {
          kind: "warning",
          code: "NOT_UPDATED",
          message: `${quantity(planned, "update")} planned, but a GET doesn't change an existing group at this service: a changed group fails`,
          hint: KEEPS_GROUPS,
        },
      ]
    : [];
