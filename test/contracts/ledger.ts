import { ledgerGroupsContract } from "./ledger/groups.ts";
import { ledgerJournalContract } from "./ledger/journal.ts";
import { ledgerLeaseContract } from "./ledger/lease.ts";
import { ledgerRequestsContract } from "./ledger/requests.ts";
import type { LedgerDatabase, LedgerPlace } from "./ledger/rig.ts";
import { ledgerRunsContract } from "./ledger/runs.ts";
import { ledgerSchemaContract } from "./ledger/schema.ts";
import { ledgerScopeContract } from "./ledger/scope.ts";
import { ledgerScopesContract, ledgerScopeTablesContract } from "./ledger/scopes.ts";
import { ledgerStorageContract } from "./ledger/storage.ts";
import { ledgerTokensContract } from "./ledger/tokens.ts";

/** What every ledger does, wherever it is kept. */
export function ledgerContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  ledgerGroupsContract(name, makePlace);
  ledgerTokensContract(name, makePlace);
  ledgerScopeContract(name, makePlace);
  ledgerJournalContract(name, makePlace);
  ledgerRunsContract(name, makePlace);
  ledgerLeaseContract(name, makePlace);
  ledgerRequestsContract(name, makePlace);
  ledgerScopesContract(name, makePlace);
}

/** What every ledger in a database does. The tables are there already in a database that `makePrepared` makes. */
export function ledgerDatabaseContract(
  name: string,
  makeDatabase: () => Promise<LedgerDatabase>,
  makePrepared: () => Promise<LedgerDatabase>,
): void {
  ledgerSchemaContract(name, makeDatabase);
  ledgerStorageContract(name, makePrepared);
  ledgerScopeTablesContract(name, makePrepared);
  ledgerContract(name, makePrepared);
}
