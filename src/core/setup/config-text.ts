import { printable, visible } from "../text/printable.ts";
import type { Choice, Proposal, Removal } from "./proposal.ts";
import {
  LEDGER_SCHEMA,
  quoted,
  READER,
  SECRETS,
  SECRETS_FOLDER,
  type Setup,
  TOKEN_SCHEMA,
  TOKEN_TABLE,
  UNKNOWN_SCHEMA,
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
${removedWhen(setup)}${changes(proposal)}
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

function removedWhen({ dialect, proposal: { removals } }: Setup): string {
  if (removals.length === 0) return "";
  return `  # Of which rows the tenant is gone: its group is deleted after a grace period of a day.
  removed_when: ${yamlValue(removalCondition(dialect, removals))}
`;
}

const changes = ({
  change,
}: Proposal): string => `  # How \`groupsync run\` notices single tenants between two full syncs. On PostgreSQL a trigger that runs
  # pg_notify with the id tells it of each change, if \`channel\` names the trigger's channel here.
${change === null ? "" : `  changes:\n    ${because(change)}\n    column: ${columnRule(change)}\n`}`;

function mappingText({ mapping }: Proposal): string {
  if (mapping.length === 0)
    return `  # Schema id of the service → data source of the tenant. Without a mapping, a group sees the schema's default data
  # source. No column looks like a data source. Write one like "40": data_source_id, or a template. If another table has
  # it, write a source.query in place of source.table, and grant its columns.
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

/** A column in a condition. A name of several words is no reserved word, and needs no quotes. */
const conditionName = (dialect: Setup["dialect"], name: string): string =>
  /^[a-z][a-z0-9]*(_[a-z0-9]+)+$/.test(name) ? name : quoted(dialect, name);

/** Words with single blanks between them, such as a condition, or an address. */
const PLAIN = /^([A-Za-z_][\w.]*( [A-Za-z_][\w.]*)*|https?:\/\/[\w.:/-]*[\w/])$/;
/** Words that some readers of YAML take for something else than text. */
const NO_TEXT = /^(true|false|null|yes|no|on|off|y|n)$/i;

/** A key of the config. JSON leaves characters as they are that nobody sees, or that YAML refuses. */
const yamlKey = (text: string): string =>
  PLAIN.test(text) && !NO_TEXT.test(text) ? text : visible(JSON.stringify(text));

/** A value of the config. The config replaces `${…}` in values, so a dollar of the text is doubled. */
const yamlValue = (text: string): string => yamlKey(text.replaceAll("$", "$$$$"));
