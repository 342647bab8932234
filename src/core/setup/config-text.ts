import type { CatalogTable } from "../proposal/catalog.ts";
import type { Choice, Removal } from "../proposal/columns.ts";
import type { Mapped, Proposal } from "../proposal/proposal.ts";
import {
  channelOf,
  LEDGER_SCHEMA,
  quoted,
  READER,
  type Setup,
  TOKEN_SCHEMA,
  TOKEN_TABLE,
  UNKNOWN_SCHEMA,
  VARIABLES,
  WRITER,
} from "./setup.ts";
import { yamlComment, yamlKey, yamlValue } from "./yaml-text.ts";

/** The text of config.yaml. It names variables in place of passwords and keys. */
export const configText = (setup: Setup): string =>
  [
    ...head(),
    "",
    ...service(setup),
    "",
    ...source(setup),
    "",
    ...group(setup.proposal),
    "",
    ...ownTables(setup),
    "",
  ].join("\n");

const head = (): readonly string[] => [
  "# yaml-language-server: $schema=./groupsync.schema.json",
  "#",
  ...yamlComment(
    "",
    "Editors check and complete this file by the line above: groupsync schema > groupsync.schema.json",
    "`groupsync init` wrote it from the database's catalog. Read each line before the first sync. The keys that are left",
    "out have defaults: config.example.yaml explains all of them.",
  ),
];

const service = ({ baseUrl }: Setup): readonly string[] => [
  "service:",
  ...yamlComment("  ", "Requests go to {base_url}/api/user."),
  `  base_url: ${baseUrl === undefined ? variable(VARIABLES.baseUrl) : yamlValue(baseUrl)}`,
  `  api_key: ${variable(VARIABLES.apiKey)}`,
];

function source(setup: Setup): readonly string[] {
  const { table, reasons, removals, change } = setup.proposal;
  const channel = channelOf(setup);
  const changes = [
    ...(change
      ? [...yamlComment("    ", because(change)), `    column: ${yamlValue(change.column.name)}`]
      : []),
    ...(channel === null
      ? []
      : [
          ...yamlComment(
            "    ",
            "The trigger in groupsync.sql names changed tenants on it. Without the trigger, take this line out. LISTEN needs a",
            "direct connection: behind a pooler, write the url of the database itself in changes.url.",
          ),
          `    channel: ${channel}`,
        ]),
  ];
  return [
    "source:",
    ...yamlComment("  ", `The url of the role ${READER}, which can read the tenants and nothing else.`),
    `  url: ${variable(VARIABLES.source)}`,
    ...yamlComment("  ", `The table ${reasons.join(", and ")}.`),
    `  table: ${yamlValue(tableInConfig(setup, table))}`,
    ...(removals.length > 0
      ? [
          ...yamlComment(
            "  ",
            "Of which rows the tenant is gone: its group is deleted after a grace period of a day.",
          ),
          `  removed_when: ${yamlValue(removalCondition(setup.dialect, removals))}`,
        ]
      : []),
    ...(changes.length > 0
      ? [
          ...yamlComment(
            "  ",
            "How `groupsync run` notices single tenants between two full syncs: docs/new-tenants.md.",
          ),
          "  changes:",
          ...changes,
        ]
      : []),
  ];
}

function group({ id, name, mapping, properties }: Proposal): readonly string[] {
  return [
    "group:",
    ...yamlComment("  ", `${because(id)} It must never change for a tenant.`),
    `  id: ${yamlValue(id.column.name)}`,
    ...yamlComment("  ", because(name)),
    `  name: ${columnRule(name)}`,
    ...mappingLines(mapping),
    ...yamlComment("  ", "Variables for the dashboards. Take out what the service is not to get."),
    ...(properties.proposed.length > 0 ? ["  properties:"] : ["  properties: {}"]),
    ...properties.proposed.map((choice) => `    ${property(choice)}`),
    ...(properties.others.length > 0
      ? yamlComment(
          "    ",
          "These could be sent, too, once groupsync.sql lets the reader read them:",
          ...properties.others.map(property),
        )
      : []),
    ...(properties.withheld.length > 0
      ? yamlComment(
          "    ",
          `Not proposed, for they look like secrets or personal data: ${properties.withheld.join(", ")}.`,
        )
      : []),
  ];
}

const property = (choice: Choice): string => `${yamlKey(choice.column.name)}: ${columnRule(choice)}`;

function mappingLines(mapping: readonly Mapped[]): readonly string[] {
  if (mapping.length === 0) {
    return [
      ...yamlComment(
        "  ",
        "Schema id of the service → data source of the tenant. Without a mapping, a group sees the schema's default data",
        'source. No column looks like a data source. Write one like "40": data_source_id, or a template.',
      ),
      "  mapping: {}",
    ];
  }
  const isUnknown = mapping.some(({ schemaId }) => schemaId === null);
  return [
    ...yamlComment(
      "  ",
      "Schema id of the service → data source of the tenant. Without the right mapping, a group may see the schema's default",
      isUnknown
        ? `data source: write the id of the schema in place of ${UNKNOWN_SCHEMA} before the first sync.`
        : "data source.",
    ),
    "  mapping:",
    ...mapping.flatMap((mapped) => [
      ...yamlComment("    ", because(mapped)),
      `    ${JSON.stringify(mapped.schemaId ?? UNKNOWN_SCHEMA)}: ${columnRule(mapped)}`,
    ]),
  ];
}

const ownTables = ({ dialect }: Setup): readonly string[] => [
  "tokens:",
  ...yamlComment(
    "  ",
    `The url of the role ${WRITER}, which has the tokens and the ledger, and no right to the tenants.`,
  ),
  `  url: ${variable(VARIABLES.own)}`,
  ...yamlComment("  ", "Your application reads the tokens here. The first sync creates the table."),
  `  table: ${TOKEN_SCHEMA}.${TOKEN_TABLE}`,
  "",
  ...yamlComment("", "groupsync's own tables. Back them up: the service has no list of its groups."),
  "ledger:",
  `  url: ${variable(VARIABLES.own)}`,
  `  table_prefix: ${dialect === "postgres" ? `${LEDGER_SCHEMA}.` : ""}ledger_`,
];

const variable = (name: string): string => `\${${name}}`;

const because = ({ column, reason }: Choice): string => `Column ${column.name} ${reason}.`;

const columnRule = ({ column }: Choice): string => yamlValue(column.name);

/** The table as the config writes it. On MySQL the url names the database. */
function tableInConfig({ dialect, database }: Setup, { schema, name }: CatalogTable): string {
  const isInUrl = dialect === "mysql" && schema === database;
  return (isInUrl ? [name] : [schema, name]).map(nameInConfig).join(".");
}

const nameInConfig = (name: string): string =>
  /^[\p{L}\p{N}_$-]+$/u.test(name) ? name : `"${name.replaceAll('"', '""')}"`;

/** The condition for source.removed_when. A name of several words is no reserved word, and needs no quotes. */
export const removalCondition = (dialect: Setup["dialect"], removals: readonly Removal[]): string =>
  removals
    .map(({ column, form }) => {
      const isPlain = /^[a-z][a-z0-9]*(_[a-z0-9]+)+$/.test(column.name);
      const name = isPlain ? column.name : quoted(dialect, column.name);
      return form === "dated" ? `${name} IS NOT NULL` : name;
    })
    .join(" OR ");
