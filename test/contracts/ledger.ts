import { ledgerGroupsContract } from "./ledger/groups.ts";
import { ledgerHistoryContract } from "./ledger/history.ts";
import { ledgerLeaseContract } from "./ledger/lease.ts";
import { ledgerMarksContract } from "./ledger/marks.ts";
import { ledgerRemovalsContract } from "./ledger/removals.ts";
import type { LedgerDatabase, LedgerPlace } from "./ledger/rig.ts";
import { ledgerRotationsContract } from "./ledger/rotations.ts";
import { ledgerStatusContract } from "./ledger/status.ts";
import { ledgerStorageContract } from "./ledger/storage.ts";
import { ledgerTablesContract } from "./ledger/tables.ts";
import { ledgerUnsyncedContract } from "./ledger/unsynced.ts";
import { ledgerVouchedContract } from "./ledger/vouched.ts";

/** What every ledger does, wherever it is kept. */
export function ledgerContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  ledgerGroupsContract(name, makePlace);
  ledgerRemovalsContract(name, makePlace);
  ledgerMarksContract(name, makePlace);
  ledgerRotationsContract(name, makePlace);
  ledgerStatusContract(name, makePlace);
  ledgerHistoryContract(name, makePlace);
  ledgerUnsyncedContract(name, makePlace);
  ledgerVouchedContract(name, makePlace);
  ledgerLeaseContract(name, makePlace);
}

/** What every ledger in a database does. */
export function ledgerDatabaseContract(name: string, makeDatabase: () => Promise<LedgerDatabase>): void {
  ledgerTablesContract(name, makeDatabase);
  ledgerStorageContract(name, makeDatabase);
  ledgerContract(name, makeDatabase);
}
