import { SyncError } from "../../core/failure/sync-error.ts";
import type { RecentWrites } from "../../core/record/recent-writes.ts";
import { wasForgottenSince } from "../../core/report/forgotten.ts";
import { printable } from "../../core/text/printable.ts";
import { quantity } from "../../core/text/quantity.ts";
import { shownTable } from "../../core/tokens/destination.ts";
import type { GroupReads } from "../../ports/ledger/groups.ts";
import type { LedgerView, OwnTables } from "../../ports/ledger/ledger.ts";
import type { KnownService, RecordedRun, RunReads, ScopeState } from "../../ports/ledger/scope.ts";

const EVER = new Date(0);

interface Ports {
  readonly ledger: Pick<RunReads, "history">;
  readonly recent: Pick<RecentWrites, "since">;
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
    existing: (await ledger.sums({ kind: "existing" })).counts.total,
    underWay: (await ledger.sums()).counts.under_way,
    lastRun: (await ledger.history(EVER, 1))[0],
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
