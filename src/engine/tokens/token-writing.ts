import type { Observe } from "../../ports/observer.ts";
import type { TokenStore } from "../../ports/token-store.ts";
import type { LedgerWriting } from "../lease/lease.ts";

/** What a step needs to store tokens, and to record in the ledger that they are stored. */
export interface TokenWriting extends LedgerWriting {
  readonly tokens: TokenStore;
  readonly observe: Observe;
  /**
   * Which group's token is being stored outside of the ledger's database, or after a rotation, by the token's fingerprint: the
   * ledger doesn't know that yet. All who store a token look into it.
   */
  readonly storing: Map<string, string>;
  /** Once it aborts, no new call starts. Calls under way finish and are recorded. */
  readonly signal: AbortSignal;
}
