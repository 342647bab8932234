import type { UpdatePolicy } from "../../core/plan/planned-action.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";
import type { Warning } from "../../ports/observer.ts";

/**
 * A warning if a GET could change a group although `service.update: never` forbids that, else null. Anybody may have changed
 * the group at the service, and a service that updates would change it back.
 */
export function unsafeToAsk(update: UpdatePolicy, updates: KnownService["updates"]): Warning | null {
  if (update !== "never" || updates === false) return null;
  const [whether, hint] =
    updates === null
      ? ["nobody knows whether", "groupsync probe finds that out"]
      : ["at this service", "leave service.refresh out, or choose another service.update"];
  return {
    kind: "warning",
    code: "REFRESH_UNSAFE",
    message: `no group is asked for again: service.update is never, and ${whether} a GET changes an existing group`,
    hint,
  };
}
