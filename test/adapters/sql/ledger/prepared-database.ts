import { inject } from "vitest";
import { ownedTables } from "../../../../src/adapters/sql/dialect/ledger-tables.ts";
import { sqlLedger } from "../../../../src/adapters/sql/ledger/ledger.ts";
import type { LedgerDatabase } from "../../../contracts/ledger/rig.ts";
import {
  createDatabase,
  type DatabaseKind,
  type FreshDatabase,
  type OpenPlace,
  SpareDatabases,
} from "../../../support/databases/fresh-database.ts";
import { aDatabase, HISTORY_MS, LOCATION, withLedgers } from "./ledger-database.ts";

/** What tells the ledger's tables from others. */
const TABLES = ownedTables(LOCATION).tables;
const NAMES = TABLES.map((name) => `'${name}'`).join(", ");
/** `prepare` writes to these alone. */
const WRITTEN = new Set(["migrations", "identity"].map((name) => LOCATION.tablePrefix + name));

interface Words {
  /** A query for the statements that remove everything but the ledger's tables. */
  readonly removals: string;
  /** A query for everything that can be there, in lines. */
  readonly contents: string;
}

const LEDGER = `SELECT concat('version ', version) FROM groupsync_migrations
  UNION ALL SELECT concat('id ', id) FROM groupsync_identity`;

const WORDS: Readonly<Record<DatabaseKind, Words>> = {
  postgres: {
    removals: `
      SELECT format('DROP SCHEMA %I CASCADE', nspname) AS statement FROM pg_namespace
      WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public')
      UNION ALL
      SELECT format('DROP %s %s CASCADE', CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, oid::regclass) FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') AND relname NOT IN (${NAMES})
      UNION ALL
      SELECT format('DROP ROUTINE %s CASCADE', oid::regprocedure) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
      UNION ALL
      SELECT format('DROP TYPE %s CASCADE', oid::regtype) FROM pg_type
      WHERE typnamespace = 'public'::regnamespace AND typtype IN ('e', 'd')`,
    contents: `
      SELECT concat_ws(' ', 'schema', nspname, nspowner, nspacl) AS line FROM pg_namespace WHERE nspname !~ '^pg_toast'
      UNION ALL SELECT concat_ws(' ', 'table', oid, relowner, relacl, reloptions, relrowsecurity, relhastriggers) FROM pg_class
      WHERE relnamespace = 'public'::regnamespace
      UNION ALL SELECT concat_ws(' ', 'column', attrelid, attname, atttypid, attnotnull, attacl) FROM pg_attribute
      JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = 'public'::regnamespace
      UNION ALL SELECT concat_ws(' ', 'constraint', oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
      UNION ALL SELECT concat_ws(' ', 'routine', oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
      UNION ALL SELECT concat_ws(' ', 'type', oid) FROM pg_type WHERE typnamespace = 'public'::regnamespace
      UNION ALL SELECT concat_ws(' ', 'extension', extname) FROM pg_extension
      UNION ALL SELECT concat_ws(' ', 'database', datacl, setconfig) FROM pg_database d
      LEFT JOIN pg_db_role_setting ON setdatabase = d.oid WHERE datname = current_database()
      UNION ALL ${LEDGER} ORDER BY 1`,
  },
  mysql: {
    removals: `SELECT concat(if(table_type = 'VIEW', 'DROP VIEW \`', 'DROP TABLE \`'), table_name, '\`') AS statement
      FROM information_schema.tables WHERE table_schema = database() AND table_name NOT IN (${NAMES})`,
    contents: `
      SELECT concat_ws(' ', 'column', table_name, column_name, column_type, is_nullable) AS line
      FROM information_schema.columns WHERE table_schema = database()
      UNION ALL SELECT concat_ws(' ', 'index', table_name, index_name, column_name) FROM information_schema.statistics
      WHERE table_schema = database()
      UNION ALL SELECT concat_ws(' ', 'trigger', trigger_name) FROM information_schema.triggers
      WHERE trigger_schema = database()
      UNION ALL SELECT concat_ws(' ', 'routine', routine_name) FROM information_schema.routines
      WHERE routine_schema = database()
      UNION ALL ${LEDGER} ORDER BY 1`,
  },
};

const prepared = new SpareDatabases(
  async (place) => {
    await createDatabase(place);
    await sqlLedger(aDatabase(place.url, place.kind), LOCATION, "default", HISTORY_MS).prepare();
    return { ...place, contents: await contentsOf(place) };
  },
  async (spare) => {
    await restore(spare);
    return (await contentsOf(spare)) === spare.contents;
  },
);

/** A database whose ledger has its tables, and nothing else. */
export const preparedDatabase = (kind: DatabaseKind = inject("databaseKind")): Promise<FreshDatabase> =>
  prepared.take(kind);

/** Removes what a test has left, as far as tests usually leave something. */
async function restore({ kind, own: { query } }: OpenPlace): Promise<void> {
  for (const { statement } of await query<{ statement: string }>(WORDS[kind].removals)) {
    await query(statement);
  }
  const filled = TABLES.filter((name) => !WRITTEN.has(name));
  await query(filled.map((name) => `DELETE FROM ${name}`).join("; "));
}

/** A text that tells whether there is more or less in the database than was prepared. */
const contentsOf = async ({ kind, own }: OpenPlace): Promise<string> =>
  (await own.query<{ line: string }>(WORDS[kind].contents)).map(({ line }) => line).join("\n");

export const preparedLedgerDatabase = async (): Promise<LedgerDatabase & FreshDatabase> =>
  withLedgers(await preparedDatabase());
