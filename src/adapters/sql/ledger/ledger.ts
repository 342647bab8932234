import { RecentWrites } from "../../../core/record/recent-writes.ts";
import type { GroupRecord } from "../../../core/record/record.ts";
import type { Lease } from "../../../ports/ledger/lease.ts";
import type { Ledger, LedgerTransaction, LedgerView } from "../../../ports/ledger/ledger.ts";
import type { InTransaction } from "../connection/connections.ts";
import { databaseError } from "../connection/failures.ts";
import type { Database } from "../dialect/database.ts";
import type { LedgerLocation } from "../dialect/ledger-tables.ts";
import type { LedgerBesideTokens } from "../tokens/token-table.ts";
import { groupReads, groupWrites } from "./groups.ts";
import { journalReads, runReads, runWrites } from "./history.ts";
import { ifHeld, ifOfNoOther, leaseState, leases } from "./lease.ts";
import { LedgerReader } from "./ledger-reader.ts";
import { rejectionReads, rejectionWrites } from "./rejections.ts";
import { requests } from "./requests.ts";
import { prepareLedger, schemaReads, schemaWrites } from "./schema.ts";
import type { LedgerScope } from "./scope.ts";
import { scopeReads, scopeWrites } from "./scope-state.ts";

/** Reads one scope of the ledger, and changes nothing: it doesn't create missing tables either. */
export const sqlLedgerView = (database: Database, location: LedgerLocation, scope: string): LedgerView =>
  allReads(new LedgerReader(database, location, scope));

/** The ledger in an SQL database, with what a token table in the same database needs to take part in its transactions. */
export type SqlLedger = Ledger & LedgerBesideTokens;

/** `historyMs`: how long the history of the runs is kept. `recent`: what this process knows of its writes to the ledger. */
export function sqlLedger(
  database: Database,
  location: LedgerLocation,
  scope: string,
  historyMs: number,
  recent = new RecentWrites(new Date()),
): SqlLedger {
  const { dialect } = database;
  const reader = new LedgerReader(database, location, scope);
  const sessions = new WeakMap<LedgerTransaction, InTransaction>();

  async function write<T>(lease: Lease, body: (transaction: LedgerTransaction) => Promise<T>): Promise<T> {
    const tables = await reader.tables();
    const begin = [...dialect.begin.write, await ifHeld(reader, lease, recent.writes)];
    const saved = new Map<string, GroupRecord | null>();
    recent.begins();
    const result = await database.transaction(begin, async (connection, held) => {
      if (held.length === 0) throw recent.whyLost(await leaseState(connection, tables.leases, scope));
      saved.clear();
      const transaction = allWrites({ dialect, connection, tables, scope }, historyMs, saved);
      sessions.set(transaction, connection);
      const result = await body(transaction);
      // Last, because it locks the row, and a renewal of the lease would wait.
      await connection.query(
        `UPDATE ${tables.leases} SET writes = writes + 1, server = coalesce($2, server) WHERE scope = $1`,
        [scope, recent.server],
      );
      return result;
    });
    recent.committed(saved);
    return result;
  }

  return {
    ...allReads(reader),
    prepare: () => prepareLedger(reader),
    ...leases(reader, recent),
    ...requests(reader),
    write: async (lease, body) => {
      try {
        return await write(lease, body);
      } catch (error) {
        throw databaseError(dialect, "LEDGER_UNAVAILABLE", "cannot write the ledger", error);
      }
    },
    sessionOf: (transaction) => {
      const session = sessions.get(transaction);
      if (!session) throw new Error("the transaction belongs to another ledger");
      return session;
    },
    ifOfNoOther: (token, lease) => ifOfNoOther(reader, token, lease),
  };
}

const allReads = (reader: LedgerReader): LedgerView => ({
  ...schemaReads(reader),
  ...scopeReads(reader),
  ...groupReads(reader),
  ...journalReads(reader),
  ...runReads(reader),
  ...rejectionReads(reader),
});

const allWrites = (
  ledger: LedgerScope,
  historyMs: number,
  saved: Map<string, GroupRecord | null>,
): LedgerTransaction => ({
  ...schemaWrites(ledger),
  ...scopeWrites(ledger),
  ...groupWrites(ledger, saved),
  ...runWrites(ledger, historyMs),
  ...rejectionWrites(ledger),
});
