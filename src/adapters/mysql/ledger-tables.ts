import { randomUUID } from "node:crypto";
import { SyncError } from "../../core/failure/sync-error.ts";
import type { Connections } from "../sql/connection/connections.ts";
import { MIGRATION } from "../sql/connection/wait-limits.ts";
import {
  LEDGER_VERSION,
  type LedgerLocation,
  type LedgerTables,
  type LedgerTypes,
  ledgerColumns,
  TABLE_NAMES,
} from "../sql/dialect/ledger-tables.ts";
import { isDenied, isDuplicate } from "./connection/failures.ts";
import { identifiers } from "./connection/identifiers.ts";
import { currentAccount, rehearse } from "./connection/rights.ts";

const TYPES: LedgerTypes = {
  key: "BIGINT AUTO_INCREMENT",
  scope: "VARBINARY(255)",
  id: "VARBINARY(512)",
  word: "VARCHAR(100)",
  longText: "LONGTEXT",
  time: "DATETIME(6)",
};

/** An engine with transactions, and texts compared by their bytes, whatever the server's defaults are. */
export const TABLE_OPTIONS =
  "ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

const KEYS: Partial<Record<keyof LedgerTables, readonly string[]>> = {
  groups: [
    "KEY held (scope, held, user_group_id)",
    "KEY token_since (scope, token_since, user_group_id)",
    "KEY wanted_since (scope, wanted_since)",
    "KEY token_fingerprint (scope, token_fingerprint)",
    "KEY shared_token (scope, shared_token)",
    "KEY verified_at (scope, verified_at, user_group_id)",
    "KEY name_key (scope, name_key, user_group_id)",
    "KEY bucket (scope, bucket)",
  ],
  formerTokens: [
    "KEY user_group_id (scope, user_group_id)",
    "KEY live_until (scope, live_until)",
    "KEY token_fingerprint (scope, token_fingerprint)",
  ],
  removals: ["KEY removed_at (scope, removed_at)"],
  // A writer locks its entry in this index. A renewal of the lease doesn't touch the entry; a new holder does.
  leases: ["UNIQUE KEY fence (scope, epoch)"],
  requests: ["UNIQUE KEY tenant (scope, user_group_id)"],
  runs: ["KEY history (scope, id)", "KEY started_at (scope, started_at)"],
};

/**
 * The statements that define the tables. Each commits by itself, so they may run again, or run on two nodes of a cluster at once:
 * what is done already must be no error.
 */
function definitions(tables: LedgerTables): readonly string[] {
  const columns = ledgerColumns(TYPES);
  return TABLE_NAMES.map((name) => {
    // An apostrophe in a comment would hide the parameters after it.
    const all = [columns[name].replaceAll(/ *--.*\n/g, ""), ...(KEYS[name] ?? [])].join(",\n    ");
    return `CREATE TABLE IF NOT EXISTS ${tables[name]} (${all}\n) ${TABLE_OPTIONS}`;
  });
}

/** In seconds: how long a program waits for another program that migrates the tables. */
const LONGEST_WAIT = 30;

/**
 * Creates the ledger's tables. A program that dies halfway records no version, and the next program begins again. Programs take
 * turns, except on two nodes of a cluster: a named lock holds on one node alone.
 */
export async function createLedger(
  connections: Connections,
  tables: LedgerTables,
  { tablePrefix }: LedgerLocation,
): Promise<void> {
  const { migrations, identity } = tables;
  // The named lock lasts until RELEASE_LOCK or the end of the session; a COMMIT does not release it.
  await connections.transaction(
    ["DO 0"],
    async (connection) => {
      const lock = `groupsync ${tablePrefix}`;
      const [row] = await connection.query<{ locked: unknown }>("SELECT GET_LOCK($1, $2) AS locked", [
        lock,
        LONGEST_WAIT,
      ]);
      if (Number(row?.locked) !== 1) throw busy();
      try {
        for (const statement of definitions(tables)) await connection.query(statement);
        await connection.query("START TRANSACTION");
        const insert = `INSERT INTO ${migrations} (version, applied_at) VALUES ($1, UTC_TIMESTAMP(6))`;
        const isOurs = await connection.query(insert, [LEDGER_VERSION]).then(
          () => true,
          (error: unknown) => {
            if (!isDuplicate(error)) throw error;
            return false;
          },
        );
        // If another program was quicker, the ledger has its id already.
        if (isOurs) await connection.query(`INSERT INTO ${identity} (id) VALUES ($1)`, [randomUUID()]);
        await connection.query("COMMIT");
      } finally {
        await connection.query("DO RELEASE_LOCK($1)", [lock]);
      }
    },
    MIGRATION,
  );
}

const busy = (): SyncError =>
  new SyncError(
    "LEDGER_UNAVAILABLE",
    `another program has been creating the ledger's tables for ${LONGEST_WAIT} seconds`,
    {
      hint: "look for it with SHOW PROCESSLIST; try again when it has ended",
    },
  );

/** Rejects if this user could not create the ledger's tables, or could not write to existing ones. Changes nothing. */
export async function inspectLedger(
  database: Connections,
  { migrations, groups, leases, runs }: LedgerTables,
  _location: LedgerLocation,
  isThere: boolean,
): Promise<void> {
  const statements = isThere
    ? [groups, leases, runs].flatMap((table) => [
        `INSERT INTO ${table} SELECT * FROM ${table} WHERE FALSE`,
        `UPDATE ${table} SET scope = scope WHERE FALSE`,
        `DELETE FROM ${table} WHERE FALSE`,
      ])
    : [`CREATE TABLE ${migrations} (version INT NOT NULL PRIMARY KEY)`];
  for (const statement of statements) {
    try {
      await rehearse(database, statement);
    } catch (error) {
      if (!isDenied(error)) throw error;
      const { name, quoted } = await currentAccount(database);
      const [row] = await database.query<{ name: string }>("SELECT database() AS name");
      const [doing, rights] = isThere ? ["write to", TO_WRITE] : ["create", [...TO_WRITE, ...TO_CREATE]];
      throw new SyncError(
        "LEDGER_UNAVAILABLE",
        `user ${name} may not ${doing} the ledger's tables in database ${row?.name}`,
        {
          hint: `GRANT ${rights.join(", ")} ON ${identifiers.quoteName(row?.name ?? "")}.* TO ${quoted}`,
          cause: error,
        },
      );
    }
  }
}

const TO_WRITE = ["SELECT", "INSERT", "UPDATE", "DELETE"];
const TO_CREATE = ["CREATE", "ALTER", "INDEX"];
