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
import { DURABLY } from "./connection/durability.ts";
import { quoteName } from "./connection/identifiers.ts";
import { insistOnSchema } from "./connection/rights.ts";

const TYPES: LedgerTypes = {
  key: "bigint GENERATED ALWAYS AS IDENTITY",
  scope: "text",
  id: 'text COLLATE "C"',
  word: "text",
  longText: "text",
  time: "timestamptz",
};

const indexes = (tables: LedgerTables): readonly string[] => [
  `CREATE INDEX ON ${tables.groups} (scope, user_group_id) WHERE held IS NOT NULL`,
  // Every sync asks for the oldest tokens. No column of an intent may be in this index: to begin a change and
  // to end it would then cost an entry each.
  `CREATE INDEX ON ${tables.groups} (scope, token_since, user_group_id) WHERE token_since IS NOT NULL`,
  `CREATE INDEX ON ${tables.groups} (scope, token_since, user_group_id) WHERE wanted_since IS NOT NULL`,
  `CREATE INDEX ON ${tables.groups} (scope, token_fingerprint) WHERE token_fingerprint IS NOT NULL`,
  `CREATE INDEX ON ${tables.groups} (scope, shared_token) WHERE shared_token IS NOT NULL`,
  // A refresh asks first for the group that was asked for longest ago.
  `CREATE INDEX ON ${tables.groups} (scope, verified_at, user_group_id) WHERE verified_at IS NOT NULL`,
  `CREATE INDEX ON ${tables.groups} (scope, name_key, user_group_id) WHERE name_key IS NOT NULL`,
  // A sync reads the groups of the buckets in which rows have changed. The scope is the last column: as long as a new
  // table has no statistics, PostgreSQL may prefer an index that begins with the scope to the primary key, and read
  // the whole scope to find one group.
  `CREATE INDEX ON ${tables.groups} (bucket, scope)`,
  `CREATE INDEX ON ${tables.formerTokens} (scope, user_group_id)`,
  `CREATE INDEX ON ${tables.formerTokens} (scope, live_until)`,
  `CREATE INDEX ON ${tables.formerTokens} (scope, token_fingerprint)`,
  `CREATE INDEX ON ${tables.removals} (scope, removed_at)`,
  `CREATE UNIQUE INDEX ON ${tables.requests} (scope, user_group_id)`,
  `CREATE INDEX ON ${tables.runs} (scope, id)`,
  `CREATE INDEX ON ${tables.runs} (scope, started_at)`,
];

/** Creates the ledger's tables, in one transaction. */
export async function createLedger(
  database: Connections,
  tables: LedgerTables,
  { schema, tablePrefix }: LedgerLocation,
): Promise<void> {
  const { migrations } = tables;
  const columns = ledgerColumns(TYPES);
  await insistOnUtf8(database);
  await database.transaction(
    DURABLY,
    async (connection) => {
      await connection.query("SELECT pg_advisory_xact_lock(hashtext($1))", [`groupsync ${tablePrefix}`]);
      if (schema !== undefined) {
        // Even if the schema exists, IF NOT EXISTS would ask for the right to create schemas.
        const schemas = await connection.query(
          "SELECT 1 FROM pg_catalog.pg_namespace AS n WHERE n.nspname = $1",
          [schema],
        );
        if (schemas.length === 0) await connection.query(`CREATE SCHEMA ${quoteName(schema)}`);
      }
      await connection.query(`CREATE TABLE IF NOT EXISTS ${migrations} (${columns.migrations})`);
      // Another program may have been quicker.
      const versions = await connection.query(`SELECT version FROM ${migrations}`);
      if (versions.length > 0) return;
      const created = TABLE_NAMES.filter((name) => name !== "migrations").map(
        (name) => `CREATE TABLE ${tables[name]} (${columns[name]})`,
      );
      await connection.query([...created, ...indexes(tables)].join(";\n"));
      await connection.query(`INSERT INTO ${tables.identity} (id) VALUES ($1)`, [randomUUID()]);
      await connection.query(`INSERT INTO ${migrations} (version, applied_at) VALUES ($1, now())`, [
        LEDGER_VERSION,
      ]);
    },
    MIGRATION,
  );
}

/** Rejects unless the encoding is UTF8: only then does `COLLATE "C"` order by the UTF-8 bytes, and every id fits. */
async function insistOnUtf8(database: Connections): Promise<void> {
  const [row] = await database.query<{ server_encoding: string }>("SHOW server_encoding");
  if (row?.server_encoding === "UTF8") return;
  throw new SyncError("LEDGER_ENCODING", `the ledger's database is encoded in ${row?.server_encoding}`, {
    hint: "name a database with the encoding UTF8 in ledger.url",
  });
}

/** Rejects if this user could not create the ledger's tables, or could not write to existing ones. Changes nothing. */
export async function inspectLedger(
  database: Connections,
  { migrations, ...tables }: LedgerTables,
  { schema }: LedgerLocation,
  isThere: boolean,
): Promise<void> {
  if (!isThere) {
    await insistOnUtf8(database);
    const purpose = { code: "LEDGER_UNAVAILABLE", what: "the ledger's tables" } as const;
    await insistOnSchema(database, schema, purpose, { mayBeCreated: true });
    return;
  }
  const [refused] = await database.query<{ user: string; name: string }>(
    `SELECT current_user AS "user", t.name
     FROM unnest($1::text[]) AS t (name), unnest($2::text[]) AS r (privilege)
     WHERE to_regclass(t.name) IS NOT NULL AND NOT has_table_privilege(t.name, r.privilege) LIMIT 1`,
    [Object.values(tables), RIGHTS],
  );
  if (!refused) return;
  const { user, name } = refused;
  throw new SyncError("LEDGER_UNAVAILABLE", `user ${user} may not write to the ledger's table ${name}`, {
    hint: `GRANT ${RIGHTS.join(", ")} ON ${Object.values(tables).join(", ")} TO ${quoteName(user)}`,
  });
}

const RIGHTS = ["SELECT", "INSERT", "UPDATE", "DELETE"];
