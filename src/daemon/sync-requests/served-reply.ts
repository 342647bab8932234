import type { Served } from "../../ports/serve-tenant.ts";
import { json, type Reply } from "../http/reply.ts";

/** In seconds: when to ask again about a tenant that could not be served. */
const RETRY_AFTER = "5";

/** The reply to a request for one tenant. */
export function servedReply(user_group_id: string, served: Served): Reply {
  switch (served.kind) {
    case "done":
      return json(200, { user_group_id, outcome: served.outcome });
    case "pending":
      return json(202, { user_group_id, outcome: "pending" });
    case "unknown": {
      const message = "the source has no tenant with this id: is the transaction of its INSERT committed?";
      return json(404, { user_group_id, outcome: "unknown", message });
    }
    case "conflict": {
      const { outcome, code, message } = served;
      return json(409, { user_group_id, outcome, code, message });
    }
    case "failed": {
      const { code, message } = served;
      return json(503, { user_group_id, outcome: "failed", code, message }, { "retry-after": RETRY_AFTER });
    }
    default:
      return served satisfies never;
  }
}
