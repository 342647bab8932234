import { SyncError } from "../../core/failure/sync-error.ts";
import { wasForgottenSince } from "../../core/report/health.ts";
import type { RunReads } from "../../ports/ledger/scope.ts";
import type { RecentCommits } from "../durability/recent-commits.ts";

const EVER = new Date(0);

interface Ports {
  readonly ledger: Pick<RunReads, "history">;
  readonly recent: Pick<RecentCommits, "since">;
}

/**
 * Rejects with SCOPE_FORGOTTEN if somebody has forgotten the scope since this process was started, because a daemon that
 * nobody has stopped would make all groups anew. Whoever is started later begins a new scope of that name.
 */
export async function insistOnScope({ ledger, recent }: Ports): Promise<void> {
  const [last] = await ledger.history(EVER, 1);
  if (!wasForgottenSince(last, recent.since)) return;
  throw new SyncError(
    "SCOPE_FORGOTTEN",
    "somebody has run `groupsync forget` with the name of this config since this process was started",
    {
      hint: "stop this process; or, if the name is to be used again, restart it: it then begins with an empty ledger",
    },
  );
}
