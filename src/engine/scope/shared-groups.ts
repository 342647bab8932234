import { SyncError } from "../../core/failure/sync-error.ts";
import { printable } from "../../core/text/printable.ts";
import { quantity } from "../../core/text/quantity.ts";
import type { GroupReads } from "../../ports/ledger/groups.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";

/**
 * Rejects with CONFIG_SCOPE_SHARED if another scope of this ledger has some of this scope's groups: the same ids, at the same
 * service and team. Two scopes with one group would undo each other's changes, rotate each other's tokens away, and delete
 * groups whose tenants the other one still has. `hint` says what to do.
 */
export async function insistOnOwnGroups(
  service: Pick<KnownService, "baseUrl" | "teamId">,
  ledger: Pick<GroupReads, "sharedGroups">,
  hint: (scope: string) => string,
): Promise<void> {
  const [shared] = await ledger.sharedGroups(service);
  if (shared === undefined) return;
  const { scope, count, first } = shared;
  const team = service.teamId === null ? "" : `, team ${service.teamId}`;
  throw new SyncError(
    "CONFIG_SCOPE_SHARED",
    `${quantity(count, "group")} of this scope, such as ${JSON.stringify(printable(first))}, ${count === 1 ? "belongs" : "belong"} to the scope ${JSON.stringify(scope)} of this ledger too, at ${service.baseUrl}${team}`,
    { hint: hint(scope) },
  );
}
