import { SyncError } from "../../core/failure/sync-error.ts";
import { shownTable } from "../../core/tokens/destination.ts";
import type { LedgerView, OwnTables } from "../../ports/ledger/ledger.ts";
import type { RecordedRun, ScopeState } from "../../ports/ledger/scope.ts";

/** What a ledger keeps of a scope, as far as somebody has to know it who wants to forget the scope. */
export interface ScopeOverview extends Pick<ScopeState, "lease" | "service"> {
  readonly name: string;
  /** How many groups the service has or may have. */
  readonly existing: number;
  readonly underWay: number;
  readonly lastRun: RecordedRun | undefined;
  /** Where its tokens are, in words. Empty if the ledger doesn't know. */
  readonly destinations: readonly string[];
}

/** Changes nothing. Rejects with UNKNOWN_SCOPE if the ledger keeps nothing of the scope. */
export async function scopeOverview(name: string, ledger: LedgerView): Promise<ScopeOverview> {
  const tables = await ledger.tables();
  if (!tables.scopes.includes(name)) throw unknownScope(name, tables);
  const { service, lease, tokens } = await ledger.scope();
  const others = tokens.complete?.filter((place) => !place.startsWith("table ")) ?? [];
  return {
    ...{ name, lease, service },
    existing: await ledger.candidateCount({ kind: "existing" }),
    underWay: (await ledger.sums()).counts.under_way,
    lastRun: (await ledger.history(new Date(0), 1))[0],
    destinations: [...tokens.tables.map((table) => `table ${shownTable(table)}`), ...others],
  };
}

function unknownScope(name: string, { place, scopes }: OwnTables): SyncError {
  const known =
    scopes.length === 0 ? "no scope at all" : scopes.map((scope) => JSON.stringify(scope)).join(", ");
  return new SyncError(
    "UNKNOWN_SCOPE",
    `the ledger${place === null ? "" : ` in ${place}`} keeps nothing of a scope ${JSON.stringify(name)}; it has ${known}`,
    {
      hint: "a scope is the `name` of a config; check ledger.url and ledger.table_prefix if another ledger is meant",
    },
  );
}
