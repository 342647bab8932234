import { doesUpdate } from "../../core/apply/update-evidence.ts";
import { quantity } from "../../core/text/quantity.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";
import type { Warning } from "../../ports/observer.ts";

/**
 * What an operator does about a service that leaves existing groups as they are, if a probe has found that out. A single group
 * is no reason to give all others new tokens.
 */
export const adviceOnKeptGroups = ({ evidence }: Pick<KnownService, "evidence">): string | null =>
  evidence.probe === false
    ? "set service.update to replace, which gives changed groups new tokens, or to never"
    : null;

/** What an operator does if a group was kept, and nobody has probed the service. */
export const PROBE_KEPT_GROUPS = "groupsync probe finds out whether the service ever changes a group";

/**
 * Warns of updates that the service will not make, because a probe or an earlier sync has found out that a GET leaves an
 * existing group as it is. `planned` is how many updates a plan has.
 */
export const keptGroupsWarnings = (
  service: Pick<KnownService, "evidence">,
  planned: number,
): readonly Warning[] =>
  doesUpdate(service.evidence) === false && planned > 0
    ? [
        {
          kind: "warning",
          code: "NOT_UPDATED",
          message: `${quantity(planned, "update")} planned, but a GET doesn't change an existing group at this service: a changed group fails`,
          hint: adviceOnKeptGroups(service) ?? PROBE_KEPT_GROUPS,
        },
      ]
    : [];
