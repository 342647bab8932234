import { SyncError } from "../../core/failure/sync-error.ts";
import type { SchemaReads } from "../../ports/ledger/ledger.ts";
import type { TokenStore } from "../../ports/token-store.ts";

interface Ports {
  readonly ledger: Pick<SchemaReads, "id">;
  readonly tokens: Pick<TokenStore, "destinations">;
}

/**
 * Takes the owner's marks of this scope and this ledger away, so that another config can have the places of its tokens. Leaves
 * the marks of others, and the tokens. Resolves to the titles of the destinations that nobody owns any more. Rejects as the
 * token stores do.
 */
export async function giveUpDestinations(
  name: string,
  { ledger, tokens }: Ports,
): Promise<readonly string[]> {
  const ledgerId = await ledger.id();
  const free: string[] = [];
  for (const destination of tokens.destinations) {
    const mark = await destination.owner().catch(unmarked);
    if (mark !== null && (mark.name !== name || mark.ledgerId !== ledgerId)) continue;
    if (mark !== null) await destination.giveUp(mark);
    free.push(destination.title);
  }
  return free;
}

/** Where this user may not read marks, no mark of this user can be. */
function unmarked(error: unknown): null {
  if (error instanceof SyncError && error.code === "TOKENS_UNMARKED") return null;
  throw error;
}
