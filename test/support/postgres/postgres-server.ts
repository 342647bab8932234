import pg from "pg";
import type { Connections, Row, ServerKind, Session } from "../databases/database-server.ts";

export const postgresServer: ServerKind = {
  connect: connectPostgres,
  create: async (server, database) => {
    await server(`CREATE DATABASE ${database}`);
  },
  empty: async (query) => {
    await query(EMPTY);
  },
  remove: async (server, database) => {
    await server(`DROP DATABASE ${database} WITH (FORCE)`);
  },
  sessionsIn: (query, database) =>
    query<Row & Session>(
      `SELECT coalesce(nullif(application_name, ''), '(no application_name)') AS client, state, query
       FROM pg_stat_activity
       WHERE datname = $1 AND backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY backend_start`,
      [database],
    ),
};

function connectPostgres(url: string): Connections {
  const pool = new pg.Pool({
    connectionString: url,
    max: 1,
    application_name: "groupsync tests",
    // Never: a test may hold a lock, and the next test needs the connection.
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
  });
  // A test may end every session of its database on purpose: the next query is what has to work.
  pool.on("error", () => {});
  return {
    query: async <R extends Row>(text: string, values: readonly unknown[] = []) =>
      (await pool.query<R>(text, [...values])).rows,
    reset: async () => {
      await pool.query("ROLLBACK");
      await pool.query("DISCARD ALL");
    },
    end: () => pool.end(),
  };
}

/** Everything that a database has from its template has an oid below this; what is made later, one from here on. */
const FIRST_NORMAL_OID = 16_384;

/**
 * Drops all schemas, makes `public` as it is in a new database, and fails if the database still has something that a
 * new one hasn't: what is in no schema, settings of the database, or rights on it.
 */
const EMPTY = `DO $$
DECLARE
  schema name;
  catalog regclass;
  has_more boolean;
BEGIN
  FOR schema IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
    EXECUTE format('DROP SCHEMA %I CASCADE', schema);
  END LOOP;
  CREATE SCHEMA public AUTHORIZATION pg_database_owner;
  GRANT USAGE ON SCHEMA public TO public;
  FOR catalog IN SELECT c.oid FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'oid'
    WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind = 'r' AND NOT c.relisshared
      AND c.oid <> 'pg_namespace'::regclass
  LOOP
    EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE oid >= ${FIRST_NORMAL_OID})', catalog) INTO has_more;
    IF has_more THEN RAISE '% has more than in a new database', catalog; END IF;
  END LOOP;
  IF EXISTS (
    SELECT FROM pg_database d LEFT JOIN pg_db_role_setting s ON s.setdatabase = d.oid
    WHERE d.datname = current_database() AND (d.datacl IS NOT NULL OR s.setdatabase IS NOT NULL)
  ) THEN RAISE 'the database has settings or rights of its own'; END IF;
END $$`;
