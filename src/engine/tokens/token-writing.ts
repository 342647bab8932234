import type { TokenStore } from "../../ports/token-store.ts";
import type { RecentCommits } from "../durability/recent-commits.ts";
import type { LedgerWriting } from "../lease/lease.ts";
import type { Waiting } from "./retry-batch.ts";

/** What a step needs to store tokens, and to record in the ledger that they are stored. */
export interface TokenWriting extends LedgerWriting, Waiting {
  readonly tokens: TokenStore;
  readonly recent: RecentCommits;
}
