import {
  channelOf,
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

/** What an administrator of PostgreSQL runs. All of it runs in one transaction, but the index. It can be run again. */
export const postgresStatements = (setup: Setup): string =>
  [
    ...head(setup),
    "",
    "BEGIN;",
    "",
    ...reader(setup),
    "",
    ...writer(setup),
    "",
    ...application(),
    ...trigger(setup),
    "",
    "COMMIT;",
    ...index(setup),
    "",
  ].join("\n");

const head = ({ database }: Setup): readonly string[] =>
  sqlComment(
    `What groupsync needs in the database ${database}. Written by groupsync init; read it, and run it as an administrator:`,
    "  psql --set ON_ERROR_STOP=1 --file groupsync.sql 'postgres://ADMINISTRATOR@HOST/DATABASE'",
    "There is no password in it. Give each of the two roles one afterwards, in psql:",
    `  \\password ${READER}`,
    `  \\password ${WRITER}`,
  );

function reader(setup: Setup): readonly string[] {
  const { dialect, database, proposal } = setup;
  const { table } = proposal;
  const place = quotedTable(dialect, table);
  return [
    ...sqlComment(...READER_COMMENT),
    ...unlessThere([`CREATE ROLE ${READER} LOGIN;`]),
    ...(table.kind === "table"
      ? [
          ...sqlComment(
            "No function that somebody plants in a schema is called by mistake: the config writes schema.table.",
          ),
          `ALTER ROLE ${READER} SET search_path = pg_catalog;`,
        ]
      : []),
    `GRANT CONNECT ON DATABASE ${quoted(dialect, database)} TO ${READER};`,
    `GRANT USAGE ON SCHEMA ${quoted(dialect, table.schema)} TO ${READER};`,
    `GRANT SELECT (${readColumns(setup)}) ON ${place} TO ${READER};`,
    ...(table.hasPolicies
      ? sqlComment(
          `A policy may hide rows of ${place}, and the groups of hidden tenants would be deleted. If all tenants count:`,
          `ALTER ROLE ${READER} BYPASSRLS;`,
          "If only the rows that the policies show count: source.row_security: filter in the config.",
        )
      : []),
  ];
}

const writer = ({ dialect, database }: Setup): readonly string[] => [
  ...sqlComment("Has the ledger and the tokens, and no right to the tenants."),
  ...unlessThere([`CREATE ROLE ${WRITER} LOGIN;`]),
  `GRANT CONNECT ON DATABASE ${quoted(dialect, database)} TO ${WRITER};`,
  `CREATE SCHEMA IF NOT EXISTS ${LEDGER_SCHEMA} AUTHORIZATION ${WRITER};`,
  `CREATE SCHEMA IF NOT EXISTS ${TOKEN_SCHEMA} AUTHORIZATION ${WRITER};`,
];

const application = (): readonly string[] =>
  sqlComment(
    "Your application reads the tokens. Once the first sync has created their table, write its role in place of app, and run",
    "this too:",
    `GRANT USAGE ON SCHEMA ${TOKEN_SCHEMA} TO app;`,
    `GRANT SELECT ON ${TOKEN_SCHEMA}.${TOKEN_TABLE} TO app;`,
  );

/** The trigger of docs/new-tenants.md. */
function trigger(setup: Setup): readonly string[] {
  const channel = channelOf(setup);
  if (channel === null) return [];
  const { dialect, proposal } = setup;
  const { table, id } = proposal;
  const notify = `${quoted(dialect, table.schema)}.notify_${channel}`;
  const idColumn = quoted(dialect, id.column.name);
  const quote = dollarQuote(idColumn);
  const on = (event: string, name: string): readonly string[] =>
    unlessThere([
      `CREATE TRIGGER groupsync_${name} AFTER ${event} ON ${quotedTable(dialect, table)}`,
      "  REFERENCING NEW TABLE AS changed",
      `  FOR EACH STATEMENT EXECUTE FUNCTION ${notify}();`,
    ]);
  return [
    "",
    ...sqlComment(
      "Tells groupsync the ids of new and changed tenants at once, by source.changes.channel. To do without, leave this part",
      "out, and take the line `channel` out of the config.",
    ),
    `CREATE OR REPLACE FUNCTION ${notify}() RETURNS trigger`,
    `LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS ${quote}`,
    "DECLARE",
    `  ids text[] := ARRAY(SELECT changed.${idColumn}::text FROM changed LIMIT 101);`,
    "  changed_id text;",
    "BEGIN",
    "  -- pg_notify refuses 8,000 bytes, and would abort the statement. No id of groupsync has more than 512.",
    "  IF cardinality(ids) > 100 OR EXISTS (SELECT FROM unnest(ids) AS one WHERE octet_length(one) > 512) THEN",
    `    PERFORM pg_notify('${channel}', '');`,
    "  ELSE",
    "    FOREACH changed_id IN ARRAY ids LOOP",
    `      PERFORM pg_notify('${channel}', changed_id);`,
    "    END LOOP;",
    "  END IF;",
    "  RETURN NULL;",
    `END ${quote};`,
    ...sqlComment("If somebody else has made it, only you may change it from now on."),
    `ALTER FUNCTION ${notify}() OWNER TO CURRENT_USER;`,
    "",
    ...on("INSERT", "inserted"),
    "",
    ...on("UPDATE", "updated"),
  ];
}

/** Makes something, or says that it is there already. PostgreSQL 13 has no OR REPLACE for triggers, and none has it for roles. */
function unlessThere(statement: readonly string[]): readonly string[] {
  const quote = dollarQuote(statement.join("\n"));
  return [
    `DO ${quote} BEGIN`,
    ...statement.map((line) => `  ${line}`),
    "EXCEPTION WHEN duplicate_object THEN RAISE NOTICE '%', SQLERRM;",
    `END ${quote};`,
  ];
}

/**
 * What stands before and behind a function's text, and nowhere in this part of it. Otherwise a column's name could end the
 * text, and psql would take the rest of the name for commands of the administrator.
 */
function dollarQuote(part: string): string {
  let tag = "";
  while (part.includes(`$${tag}$`)) tag += "_";
  return `$${tag}$`;
}

function index({ dialect, proposal: { table, change } }: Setup): readonly string[] {
  if (change === null || change.column.isIndexed || table.kind === "view") return [];
  return [
    "",
    ...sqlComment(
      `Without an index, each look at ${change.column.name} reads the whole table.`,
      ...(table.isPartitioned
        ? ["Until the index of a partitioned table is made, whoever writes to the table waits."]
        : []),
    ),
    `CREATE INDEX ${table.isPartitioned ? "" : "CONCURRENTLY "}IF NOT EXISTS ${plainName(table)}_groupsync_changes ON ${quotedTable(dialect, table)} (${quoted(dialect, change.column.name)});`,
  ];
}
