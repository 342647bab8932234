import {
  LEDGER_SCHEMA,
  plainName,
  quoted,
  quotedTable,
  READER,
  READER_COMMENT,
  readColumns,
  type Setup,
  TOKEN_SCHEMA,
  TOKEN_TABLE,
  WRITER,
} from "./setup.ts";
import { sqlComment } from "./sql-comment.ts";

const RIGHTS = "SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX";

/** What an administrator of MySQL or MariaDB runs. It can be run again, up to the index at its end. */
export function mysqlStatements(setup: Setup): string {
  const { dialect, database, proposal } = setup;
  const { table, change } = proposal;
  const place = quotedTable(dialect, table);
  return [
    ...sqlComment(
      `What groupsync needs on the server of the database ${database}. Written by groupsync init; read it, and run it as an`,
      "administrator:",
      "  mysql --host HOST --user ADMINISTRATOR --password < groupsync.sql",
      "There is no password in it: both accounts are locked until you give them one. If the server has a policy for passwords,",
      "write IDENTIFIED BY '…' before each ACCOUNT LOCK.",
      `  ALTER USER ${READER} IDENTIFIED BY '…' ACCOUNT UNLOCK;`,
      `  ALTER USER ${WRITER} IDENTIFIED BY '…' ACCOUNT UNLOCK;`,
    ),
    "",
    ...sqlComment(...READER_COMMENT),
    `CREATE USER IF NOT EXISTS ${READER} ACCOUNT LOCK;`,
    `GRANT SELECT (${readColumns(setup)}) ON ${place} TO ${READER};`,
    ...(table.kind === "view"
      ? sqlComment(
          "To see in EXPLAIN that an index finds a tenant in a view, groupsync needs these too. Without them it looks at single",
          "tenants less often:",
          `GRANT SHOW VIEW ON ${place} TO ${READER};`,
          `GRANT SELECT ON … TO ${READER};   (each table below the view)`,
        )
      : []),
    "",
    ...sqlComment("Has the ledger and the tokens, and no right to the tenants."),
    `CREATE USER IF NOT EXISTS ${WRITER} ACCOUNT LOCK;`,
    `CREATE DATABASE IF NOT EXISTS ${LEDGER_SCHEMA} CHARACTER SET utf8mb4;`,
    `CREATE DATABASE IF NOT EXISTS ${TOKEN_SCHEMA} CHARACTER SET utf8mb4;`,
    `GRANT ${RIGHTS} ON ${LEDGER_SCHEMA}.* TO ${WRITER};`,
    // The grant on a whole database would take the underscore in its name for any character.
    `GRANT ${RIGHTS} ON ${TOKEN_SCHEMA}.${TOKEN_TABLE} TO ${WRITER};`,
    `GRANT ${RIGHTS} ON ${TOKEN_SCHEMA}.groupsync_token_owners TO ${WRITER};`,
    "",
    ...sqlComment(
      "Your application reads the tokens. Once the first sync has created their table, write its account in place of app, and",
      "run this too:",
      `GRANT SELECT ON ${TOKEN_SCHEMA}.${TOKEN_TABLE} TO app;`,
    ),
    ...(change === null || change.column.isIndexed || table.kind === "view"
      ? []
      : [
          "",
          ...sqlComment(`Without an index, each look at ${change.column.name} reads the whole table.`),
          `CREATE INDEX ${plainName(table)}_groupsync_changes ON ${place} (${quoted(dialect, change.column.name)});`,
        ]),
    "",
  ].join("\n");
}
