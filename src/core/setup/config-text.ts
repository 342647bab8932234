import { printable, visible } from "../text/printable.ts";
import { titleOf } from "./catalog.ts";
import type { Choice, Proposal, Removal } from "./proposal.ts";
import {
  LEDGER_SCHEMA,
  quoted,
  quotedTable,
  READER,
  SECRETS,
  SECRETS_FOLDER,
  type Setup,
  TOKEN_SCHEMA,
  TOKEN_TABLE,
  UNKNOWN_SCHEMA,
  usedColumns,
  WRITER,
} from "./setup.ts";

/** The text of config.yaml. It names variables or files in place of passwords and keys. */
export function configText(setup: Setup): string {
  const { dialect, baseUrl, proposal } = setup;
  const { reason, id, name, properties } = proposal;
  return `# yaml-language-server: $schema=./groupsync.schema.json
#
# Editors check and complete this file by the line above: groupsync schema > groupsync.schema.json
# \`groupsync init\` wrote it from the database's catalog. Read each line before the first sync. The keys that are left
# out have defaults: \`groupsync schema\` describes all of them.

service:
  # Requests go to {base_url}/api/user.
  base_url: ${baseUrl === undefined ? variable("GROUPSYNC_BASE_URL") : yamlValue(baseUrl)}
  api_key: ${secret(setup, "apiKey")}

source:
  # The url of the role ${READER}, which can read the tenants and nothing else.
  url: ${secret(setup, "sourceUrl")}
  # The table ${reason}.
  table: ${yamlValue(tableInConfig(setup))}
${query(setup)}${removedWhen(setup)}${changes(proposal)}
group:
  ${because(id)} It must never change for a tenant.
  id: ${columnRule(id)}
  ${because(name)}
  name: ${columnRule(name)}
${mappingText(proposal)}  # Variables for the dashboards. What you add, groupsync.sql has to grant.
  properties:${properties.length === 0 ? " {}" : ""}
${properties.map((choice) => `    ${yamlKey(choice.column.name)}: ${columnRule(choice)}\n`).join("")}
tokens:
  # The url of the role ${WRITER}, which has the tokens and the ledger, and no right to the tenants.
  url: ${secret(setup, "databaseUrl")}
  # Your application reads the tokens here. The first sync creates the table.
  table: ${TOKEN_SCHEMA}.${TOKEN_TABLE}

# groupsync's own tables. Back them up: the service has no list of its groups.
ledger:
  url: ${secret(setup, "databaseUrl")}
  table_prefix: ${dialect === "postgres" ? `${LEDGER_SCHEMA}.` : ""}ledger_
`;
}

const variable = (name: string): string => `\${${name}}`;

const secret = ({ place }: Setup, name: keyof typeof SECRETS): string =>
  variable(place === "shell" ? SECRETS[name].variable : `file:${SECRETS_FOLDER}/${SECRETS[name].file}`);

/** The query for a data source in another table, as a comment. The LEFT JOIN keeps the tenants without one. */
function query({ dialect, proposal }: Setup): string {
  const { table, joined, id, status, change } = proposal;
  if (joined === null) return "";
  const [key, dataSource] = [joined.key.name, joined.dataSource.name];
  const column = (of: "t" | "d", name: string): string => `${of}.${columnInSql(dialect, name)}`;
  const own = new Set(usedColumns(proposal));
  if (status !== null) own.add(status.name);
  const columns = [...Array.from(own, (name) => column("t", name)), column("d", dataSource)];
  const sql = [
    `SELECT ${columns.join(", ")}`,
    `FROM ${quotedTable(dialect, table)} AS t`,
    `LEFT JOIN ${quotedTable(dialect, joined.table)} AS d ON ${column("d", key)} = ${column("t", id.column.name)}`,
  ];
  const lines = [
    `The data source seems to be in ${titleOf(joined.table)}.${dataSource}. To take it from there: write these lines in place`,
    `of table, ${UNKNOWN_SCHEMA}: ${yamlValue(dataSource)} in group.mapping, and run what is a comment in groupsync.sql.`,
    ...(joined.key.key === null
      ? ["It has to be one row for each tenant. If a tenant has several, add a condition that leaves one."]
      : []),
    ...(change === null
      ? []
      : [
          `Changes of ${joined.table.name} have to move ${change.column.name} in the tenant's own row, by a trigger.`,
        ]),
    "query: |",
    ...sql.map((line) => `  ${line.replaceAll("$", "$$$$")}`),
    `ready_when: ${yamlValue(`${conditionName(dialect, dataSource)} IS NOT NULL`)}`,
  ];
  return lines.map((line) => `  ${comment(line)}\n`).join("");
}

function removedWhen({ dialect, proposal: { removals, status } }: Setup): string {
  const sure = removalCondition(dialect, removals);
  const lines =
    sure === ""
      ? []
      : [
          "# Of which rows the tenant is gone: its group is deleted after a grace period of a day.",
          `removed_when: ${yamlValue(sure)}`,
        ];
  if (status !== null) {
    const more = `${conditionName(dialect, status.name)} IN ('cancelled', 'deleted')`;
    lines.push(
      comment(
        `If column ${status.name} says that a tenant is gone, write the values that say so, and run what is a comment in`,
      ),
      comment("groupsync.sql. init has read no row."),
      comment(`removed_when: ${yamlValue(sure === "" ? more : `${sure} OR ${more}`)}`),
    );
  }
  return lines.map((line) => `  ${line}\n`).join("");
}

const changes = ({
  change,
}: Proposal): string => `  # How \`groupsync run\` notices single tenants between two full syncs. On PostgreSQL a trigger that runs
  # pg_notify with the id tells it of each change, if \`channel\` names the trigger's channel here.
${change === null ? "" : `  changes:\n    ${because(change)}\n    column: ${columnRule(change)}\n`}`;

function mappingText({ mapping }: Proposal): string {
  if (mapping.length === 0)
    return `  # Schema id of the service → data source of the tenant. Without a mapping, a group sees the schema's default data
  # source. No column looks like a data source. Write one like "40": data_source_id, or a template.
  mapping: {}
`;
  const isUnknown = mapping.some(({ schemaId }) => schemaId === null);
  const entries = mapping.map(
    (mapped) =>
      `    ${because(mapped)}\n    ${JSON.stringify(mapped.schemaId ?? UNKNOWN_SCHEMA)}: ${columnRule(mapped)}\n`,
  );
  return `  # Schema id of the service → data source of the tenant. Without the right mapping, a group may see the schema's default
  # data source${isUnknown ? `: write the id of the schema in place of ${UNKNOWN_SCHEMA} before the first sync` : ""}.
  mapping:
${entries.join("")}`;
}

const because = ({ column, reason }: Choice): string => comment(`Column ${column.name} ${reason}.`);

/** A line of a comment, whole: it may be SQL. A name in it may have any character. */
const comment = (line: string): string => `# ${printable(line, Number.POSITIVE_INFINITY)}`;

const columnRule = ({ column }: Choice): string => yamlValue(column.name);

/** The table as the config writes it. On MySQL the url names the database. */
function tableInConfig({ dialect, database, proposal: { table } }: Setup): string {
  const isInUrl = dialect === "mysql" && table.schema === database;
  return (isInUrl ? [table.name] : [table.schema, table.name]).map(nameInConfig).join(".");
}

const nameInConfig = (name: string): string =>
  /^[\p{L}\p{N}_$-]+$/u.test(name) ? name : `"${name.replaceAll('"', '""')}"`;

/** The condition for source.removed_when. */
export const removalCondition = (dialect: Setup["dialect"], removals: readonly Removal[]): string =>
  removals
    .map(({ column, form }) => {
      const name = conditionName(dialect, column.name);
      return form === "dated" ? `${name} IS NOT NULL` : name;
    })
    .join(" OR ");

/** A column in a condition. A name of several words is no reserved word, nor are these two, and needs no quotes. */
const conditionName = (dialect: Setup["dialect"], name: string): string =>
  /^(status|warehouse|[a-z][a-z0-9]*(_[a-z0-9]+)+)$/.test(name) ? name : quoted(dialect, name);

/** A column behind a dot, where a reserved word needs no quotes. */
const columnInSql = (dialect: Setup["dialect"], name: string): string =>
  /^[a-z][a-z0-9_]*$/.test(name) ? name : quoted(dialect, name);

/** Words with single blanks between them, such as a condition, or an address. */
const PLAIN = /^([A-Za-z_][\w.]*( [A-Za-z_][\w.]*)*|https?:\/\/[\w.:/-]*[\w/])$/;
/** Words that some readers of YAML take for something else than text. */
const NO_TEXT = /^(true|false|null|yes|no|on|off|y|n)$/i;

/** A key of the config. JSON leaves characters as they are that nobody sees, or that YAML refuses. */
const yamlKey = (text: string): string =>
  PLAIN.test(text) && !NO_TEXT.test(text) ? text : visible(JSON.stringify(text));

/** A value of the config. The config replaces `${…}` in values, so a dollar of the text is doubled. */
const yamlValue = (text: string): string => yamlKey(text.replaceAll("$", "$$$$"));
