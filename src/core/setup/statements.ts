import { printable } from "../text/printable.ts";
import type { CatalogTable } from "./catalog.ts";
import {
  LEDGER_SCHEMA,
  quoted,
  quotedTable,
  READER,
  type Setup,
  TOKEN_SCHEMA,
  TOKEN_TABLE,
  usedColumns,
  WRITER,
} from "./setup.ts";

/** What an administrator of the database runs. It can be run again. */
export const statements = (setup: Setup): string =>
  setup.dialect === "postgres" ? postgresStatements(setup) : mysqlStatements(setup);

/** On PostgreSQL all of it is one transaction, but the index. */
function postgresStatements(setup: Setup): string {
  const { dialect, database, proposal } = setup;
  const { table } = proposal;
  return `-- What groupsync needs in the database ${inComment(database)}. Written by groupsync init; read it, and run it as an administrator:
--   psql --set ON_ERROR_STOP=1 --file groupsync.sql 'postgres://ADMINISTRATOR@HOST/DATABASE'
-- There is no password in it. Give each of the two roles one afterwards, in psql:
--   \\password ${READER}
--   \\password ${WRITER}

BEGIN;

${READER_COMMENT}
${roleUnlessThere(READER)}
${table.kind === "table" ? PINNED_PATH : ""}GRANT CONNECT ON DATABASE ${quoted(dialect, database)} TO ${READER};
GRANT USAGE ON SCHEMA ${quoted(dialect, table.schema)} TO ${READER};
${readerGrant(setup)}

${WRITER_COMMENT}
${roleUnlessThere(WRITER)}
GRANT CONNECT ON DATABASE ${quoted(dialect, database)} TO ${WRITER};
CREATE SCHEMA IF NOT EXISTS ${LEDGER_SCHEMA} AUTHORIZATION ${WRITER};
CREATE SCHEMA IF NOT EXISTS ${TOKEN_SCHEMA} AUTHORIZATION ${WRITER};

${APPLICATION_COMMENT}
-- GRANT USAGE ON SCHEMA ${TOKEN_SCHEMA} TO app;
-- GRANT SELECT ON ${TOKEN_SCHEMA}.${TOKEN_TABLE} TO app;

COMMIT;
${index(setup, "CREATE INDEX CONCURRENTLY IF NOT EXISTS", "PostgreSQL makes that of a partitioned table only without CONCURRENTLY.")}`;
}

const PINNED_PATH = `-- No function that somebody plants in a schema is called by mistake: the config writes schema.table.
ALTER ROLE ${READER} SET search_path = pg_catalog;
`;

/** Makes a role, or says that it is there already: PostgreSQL has no IF NOT EXISTS for roles. */
const roleUnlessThere = (role: string): string => `DO $$ BEGIN
  CREATE ROLE ${role} LOGIN;
EXCEPTION WHEN duplicate_object THEN RAISE NOTICE '%', SQLERRM;
END $$;`;

const MYSQL_RIGHTS = "SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX";

function mysqlStatements(setup: Setup): string {
  const { table } = setup.proposal;
  const [reader, writer] = [account(setup, READER), account(setup, WRITER)];
  // The grant on a whole database would take the underscore in the tokens' one for any character.
  return `-- What groupsync needs on the server of the database ${inComment(setup.database)}. Written by groupsync init; read it, and run it as an
-- administrator:
--   mysql --host HOST --user ADMINISTRATOR --password < groupsync.sql
-- ${setup.accountHost === undefined ? "Both accounts can log in from any host: groupsync init --account-host 10.20.% would limit that." : "Both accounts can log in from the host behind the @ alone."}
-- There is no password in it: both accounts are locked until you give them one. If the server has a policy for passwords,
-- write IDENTIFIED BY '…' before each ACCOUNT LOCK.
--   ALTER USER ${reader} IDENTIFIED BY '…' ACCOUNT UNLOCK;
--   ALTER USER ${writer} IDENTIFIED BY '…' ACCOUNT UNLOCK;

${READER_COMMENT}
CREATE USER IF NOT EXISTS ${reader} ACCOUNT LOCK;
${readerGrant(setup)}
${table.kind === "view" ? showView(setup) : ""}
${WRITER_COMMENT}
CREATE USER IF NOT EXISTS ${writer} ACCOUNT LOCK;
CREATE DATABASE IF NOT EXISTS ${LEDGER_SCHEMA} CHARACTER SET utf8mb4;
CREATE DATABASE IF NOT EXISTS ${TOKEN_SCHEMA} CHARACTER SET utf8mb4;
GRANT ${MYSQL_RIGHTS} ON ${LEDGER_SCHEMA}.* TO ${writer};
GRANT ${MYSQL_RIGHTS} ON ${TOKEN_SCHEMA}.${TOKEN_TABLE} TO ${writer};
GRANT ${MYSQL_RIGHTS} ON ${TOKEN_SCHEMA}.groupsync_token_owners TO ${writer};

${APPLICATION_COMMENT}
-- GRANT SELECT ON ${TOKEN_SCHEMA}.${TOKEN_TABLE} TO app;
${index(setup, "CREATE INDEX /*M! IF NOT EXISTS */", "MySQL refuses it the second time: all the rest is done by then.")}`;
}

const showView = (
  setup: Setup,
): string => `-- To see in EXPLAIN that an index finds a tenant in a view, groupsync needs these too. Without them it looks at single
-- tenants less often:
-- ${inComment(`GRANT SHOW VIEW ON ${quotedTable(setup.dialect, setup.proposal.table)} TO ${account(setup, READER)};`)}
-- GRANT SELECT ON … TO ${account(setup, READER)};   (each table below the view)
`;

const READER_COMMENT = `-- Reads of the tenants what the config uses, and can do nothing else. A column that you add to the config, or that a
-- condition or a query of yours reads, has to be added here.`;
const WRITER_COMMENT = "-- Has the ledger and the tokens, and no right to the tenants.";
const APPLICATION_COMMENT = `-- Your application reads the tokens. Once the first sync has created their table, write its name in place of app, and run
-- this too:`;

function readerGrant(setup: Setup): string {
  const { dialect, proposal } = setup;
  const { table, status, joined } = proposal;
  const grant = (to: CatalogTable, names: readonly string[]): string =>
    `GRANT SELECT (${names.map((name) => quoted(dialect, name)).join(", ")}) ON ${quotedTable(dialect, to)} TO ${account(setup, READER)};`;
  const more: string[] = status === null ? [] : [grant(table, [status.name])];
  if (joined !== null) {
    const { key, dataSource } = joined;
    if (dialect === "postgres" && joined.table.schema !== table.schema)
      more.push(`GRANT USAGE ON SCHEMA ${quoted(dialect, joined.table.schema)} TO ${READER};`);
    more.push(grant(joined.table, [key.name, dataSource.name]));
    if (dialect === "postgres" && !key.isIndexed)
      more.push(`CREATE INDEX ON ${quotedTable(dialect, joined.table)} (${quoted(dialect, key.name)});`);
  }
  return [
    grant(table, usedColumns(proposal)),
    ...(more.length === 0 ? [] : ["-- For the lines of the config that are comments, if you take them:"]),
    ...more.map((line) => `-- ${inComment(line)}`),
  ].join("\n");
}

/** A role of PostgreSQL as it is; an account of MySQL with the hosts from which it can log in. */
const account = ({ dialect, accountHost = "%" }: Setup, name: string): string =>
  dialect === "postgres" ? name : `${name}@'${accountHost}'`;

/** The index of the change column, if it has none. MariaDB alone of the MySQL kind has IF NOT EXISTS for an index. */
function index({ dialect, proposal: { table, change } }: Setup, create: string, note: string): string {
  if (change === null || change.column.isIndexed || table.kind === "view") return "";
  return `
-- Without an index, each lookup by ${inComment(change.column.name)} reads the whole table. ${note}
${create} ${indexName(table)} ON ${quotedTable(dialect, table)} (${quoted(dialect, change.column.name)});
`;
}

/** Short, and without a character that would need quotes. */
export function indexName({ name }: Pick<CatalogTable, "name">): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, "_")
    .replace(/^_+|_+$/g, "")
    .slice(0, 30);
  return `${/^[a-z]/.test(plain) ? plain : "tenants"}_groupsync_changes`;
}

/** A name may have any character, and must not end the comment that it stands in. */
const inComment = (text: string): string => printable(text, Number.POSITIVE_INFINITY);
