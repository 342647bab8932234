import { SyncError } from "../../core/failure/sync-error.ts";
import { isUsableId } from "../../core/group/tenant.ts";
import type { Requests } from "../../ports/ledger/requests.ts";
import type { Served } from "../../ports/serve-tenant.ts";

interface AskingPorts {
  readonly ledger: Pick<Requests, "putRequest">;
  /** Names this process. */
  readonly requester: string;
  /** What is known of the instance that holds the lease; undefined if nothing is. */
  readonly holder: string | undefined;
}

/** How long the request waits for an instance that serves single tenants, in milliseconds. The next full sync needs no request. */
const REQUEST_LASTS = 300_000;

/**
 * Asks the holder of the lease, through the ledger, to serve one tenant. Resolves to `pending` once the request is committed, and
 * to `failed` if it can't be.
 */
export async function askHolder(
  user_group_id: string,
  { ledger, requester, holder }: AskingPorts,
): Promise<Served> {
  if (!isUsableId(user_group_id)) return { kind: "unknown" };
  const failed = ({ code, message }: Pick<SyncError, "code" | "message">): Served => ({
    kind: "failed",
    code,
    message: `this instance doesn't hold the lease, and can't ask the one that does: ${message}${holder === undefined ? "" : `; ${holder}`}`,
  });
  try {
    const request = await ledger.putRequest(user_group_id, requester, REQUEST_LASTS);
    return request === "" ? failed(NO_TABLES) : { kind: "pending" };
  } catch (error) {
    if (error instanceof SyncError) return failed(error);
    throw error;
  }
}

const NO_TABLES = {
  code: "LEDGER_UNAVAILABLE",
  message: "the first sync has not made the ledger's tables yet",
};
