import type { UpdatePolicy } from "../../core/plan/planned-action.ts";
import type { Observe } from "../../ports/observer.ts";
import type { ServiceIdentity } from "../service/service-identity.ts";

/**
 * False if a GET could change a group although `service.update: never` forbids that; then warns. Anybody may have changed the
 * group at the service, and a service that updates would change it back.
 */
export function isSafeToAsk(
  update: UpdatePolicy,
  { identity, observe }: { readonly identity: Pick<ServiceIdentity, "updates">; readonly observe: Observe },
): boolean {
  if (update !== "never" || identity.updates === false) return true;
  observe({
    kind: "warning",
    code: "REFRESH_UNSAFE",
    message: `no group is asked for again: service.update is never, and ${identity.updates === null ? "nobody knows whether" : "at this service"} a GET changes an existing group`,
    hint:
      identity.updates === null
        ? "groupsync probe finds that out"
        : "leave service.refresh out, or choose another service.update",
  });
  return false;
}
