import { dirname, join } from "node:path";
import { SyncError } from "../../core/failure/sync-error.ts";
import type { Group } from "../../core/group/group.ts";
import type { Tenant } from "../../core/group/tenant.ts";
import { type Catalog, type CatalogTable, titleOf, titleWithOwner } from "../../core/proposal/catalog.ts";
import type { Proposal, Proposals, Unfit, Wishes } from "../../core/proposal/proposal.ts";
import { removalCondition } from "../../core/setup/config-text.ts";
import {
  LEDGER_SCHEMA,
  READER,
  type Setup,
  UNKNOWN_SCHEMA,
  userUrl,
  VARIABLES,
  WRITER,
} from "../../core/setup/setup.ts";
import { printable, printableId, shellQuoted, shellWord } from "../../core/text/printable.ts";

/** How many tables or columns are named. */
const MOST_NAMED = 10;
/** How many rows are shown. */
const SHOWN_ROWS = 3;

/** What was chosen, line by line, with the reasons. */
export function proposalText({ dialect, proposal }: Setup): string {
  const { table, reasons, id, name, mapping, properties, removals, change } = proposal;
  const owner = table.isOurs || table.owner === null ? [] : [`belongs to ${table.owner}`];
  const lines: (readonly [key: string, value: string, reason: string])[] = [
    ["source.table", titleOf(table), [...reasons, ...owner].join(", and ")],
    ["group.id", id.column.name, id.reason],
    ["group.name", name.column.name, name.reason],
    ...mapping.map(
      ({ schemaId, column, reason }) =>
        [`group.mapping.${schemaId ?? UNKNOWN_SCHEMA}`, column.name, reason] as const,
    ),
    ...properties.proposed.map(
      ({ column, reason }) => [`group.properties.${column.name}`, column.name, reason] as const,
    ),
    ...(removals.length > 0
      ? [["source.removed_when", removalCondition(dialect, removals), "says which tenants are gone"] as const]
      : []),
    ...(change ? [["source.changes.column", change.column.name, change.reason] as const] : []),
  ];
  const shown = lines.map((line) => line.map((text) => printable(text)));
  const width = (index: number): number => Math.max(...shown.map((line) => line[index]?.length ?? 0));
  const [keys, values] = [width(0), width(1)];
  return shown
    .map(
      ([key = "", value = "", reason = ""]) => `  ${key.padEnd(keys)}  ${value.padEnd(values)}  ${reason}\n`,
    )
    .join("");
}

/** The other tables that would fit, so that nobody takes the first one for the only one. */
export function otherTablesText({ fit }: Pick<Proposals, "fit">, { table: taken }: Proposal): string {
  const others = fit.filter(({ table }) => table !== taken).map(({ table }) => titleWithOwner(table));
  return others.length === 0 ? "" : `Other tables that would fit, with --table: ${listed(others)}\n`;
}

/** A few of the tenants, with one that is rejected, if there is one, as the groups that they would become. */
export function exampleText(tenants: readonly Tenant[]): string {
  if (tenants.length === 0) return "  There is no row yet.\n";
  const rejected = tenants.find(({ kind }) => kind === "rejected");
  const others = tenants
    .filter((tenant) => tenant !== rejected)
    .slice(0, rejected ? SHOWN_ROWS - 1 : SHOWN_ROWS);
  return tenants
    .filter((tenant) => tenant === rejected || others.includes(tenant))
    .flatMap(tenantLines)
    .map((line) => `  ${line}\n`)
    .join("");
}

function tenantLines(tenant: Tenant): readonly string[] {
  const id = printableId(tenant.user_group_id);
  switch (tenant.kind) {
    case "desired":
      return [`+ ${id}  ${value(tenant.group.name)}`, ...groupLines(tenant.group)];
    case "rejected":
      return [`! ${id}  rejected: ${printable(tenant.message)}`];
    case "flagged":
      return [`- ${id}  no group: source.removed_when says that its tenant is gone`];
    case "not_ready":
      return [`= ${id}  no group yet: source.ready_when is not true of its row`];
  }
}

const groupLines = ({ mapping, properties }: Group): readonly string[] =>
  Object.entries({ mapping, properties }).flatMap(([section, values]) =>
    Object.entries(values).map(([key, one]) => `    ${section}.${printable(key)}: ${value(one)}`),
  );

const value = (one: unknown): string => printable(JSON.stringify(one));

const proposalError = (message: string, hint: string): SyncError =>
  new SyncError("CONFIG_PROPOSAL", message, { hint });

/** The error if a name without a schema is that of several tables, or of another owner's: a stranger may have chosen it. */
export function needsSchema(text: string, tables: readonly CatalogTable[]): SyncError {
  const [first, ...more] = tables;
  if (first === undefined || more.length > 0)
    return proposalError(
      `there are ${tables.length} tables ${printable(text)}`,
      `write one of them behind --table, with its schema: ${listed(tables.map(titleWithOwner))}`,
    );
  const whose = first.owner === null ? "may be anybody's" : `belongs to ${first.owner}`;
  return proposalError(
    `${printable(titleOf(first))} ${printable(whose)}, and was not named with its schema`,
    `reading it may run its owner's functions with this user's rights. If you trust its owner: --table ${shellWord(titleOf(first))}`,
  );
}

/** The error if no table can have the tenants: it says what each of the nearest tables lacks. */
export function noProposal(
  { tables, database }: Catalog,
  { unfit }: Pick<Proposals, "unfit">,
  { table }: Pick<Wishes, "table">,
): SyncError {
  if (tables.length === 0)
    return proposalError(
      `this user sees no table in ${database === null ? "any database" : `the database ${printable(database)}`}`,
      "is it the right database, and the right user? A user without rights to a table may not even see it",
    );
  if (table !== undefined && unfit.length === 0)
    return proposalError(
      `there is no table ${printable(table)} that this user may see`,
      `--table takes one of ${listed(tables.map(titleOf))}`,
    );
  const [nearest] = unfit;
  if (nearest && unfit.length === 1)
    return proposalError(
      `${printable(titleOf(nearest.table))} can't have the tenants: ${printable(nearest.lacks)}`,
      [
        `choose with --table, --id and --group-name, or make a view${columnsOf(nearest)}`,
        ...othersHint(tables, table),
      ].join("\n"),
    );
  return proposalError(
    "no table of this user has a unique id, a name, and the columns that the options name",
    [
      "choose with --table, --id and --group-name, or make a view that has them",
      ...unfit
        .slice(0, MOST_NAMED)
        .map((one) => `  ${printable(titleOf(one.table))}: ${printable(one.lacks)}${columnsOf(one)}`),
      ...othersHint(tables, table),
    ].join("\n"),
  );
}

/** Other owners' tables are never proposed. */
function othersHint(tables: readonly CatalogTable[], asked: string | undefined): readonly string[] {
  const others = tables.filter(({ isOurs, isReadable }) => !isOurs && isReadable);
  return asked !== undefined || others.length === 0
    ? []
    : [
        `tables of other owners are taken only if you name them with their schema, because reading one may run its owner's functions: --table ${listed(others.map(titleWithOwner))}`,
      ];
}

/** The error if the database's name can't stand in the statements so that a reader sees it. */
export const unseenDatabase = ({ database }: Pick<Catalog, "database">): SyncError =>
  proposalError(
    `the name of the database has characters that nobody sees: ${printable(database ?? "")}`,
    "rename the database, or write config.yaml and the GRANTs by hand: see docs/security.md",
  );

const columnsOf = ({ table: { columns } }: Unfit): string =>
  columns.length > 0 ? `; its columns: ${listed(columns.map(({ name }) => name))}` : "";

const listed = (names: readonly string[]): string =>
  [
    ...names.slice(0, MOST_NAMED).map((name) => printable(name)),
    ...(names.length > MOST_NAMED ? ["…"] : []),
  ].join(", ");

/** Where init has written its files. */
export interface Places {
  readonly config: string;
  readonly statements: string;
}

/** What the operator does next, in order. `url` is the one that init was given; its user and password aren't shown. */
export function nextSteps(setup: Setup, places: Places, url: string): string {
  const steps = [
    readConfig(setup, places),
    runStatements(setup, places, url),
    setVariables(setup, url),
    commandLines(places),
  ];
  const shown = steps.map(([title = "", ...lines], index) =>
    [`${index + 1}. ${title}`, ...lines.map((line) => `     ${line}`)].join("\n"),
  );
  return `What to do next:\n\n${shown.join("\n\n")}\n\ndocs/init.md explains each step.\n`;
}

function readConfig({ proposal: { mapping } }: Setup, { config }: Places): readonly string[] {
  const column = mapping.find(({ schemaId }) => schemaId === null)?.column.name;
  if (column !== undefined) {
    return [
      `In ${config}, write the id of the service's schema in place of ${UNKNOWN_SCHEMA} in group.mapping. Read the rest, too.`,
    ];
  }
  if (mapping.length > 0) return [`Read ${config}: is each group what the tenant should have?`];
  return [
    `Read ${config}. Without group.mapping each group sees the default data source of each schema: is that what you want?`,
  ];
}

function runStatements({ dialect, database }: Setup, { statements }: Places, url: string): readonly string[] {
  const file = shellWord(statements);
  if (dialect === "postgres") {
    const administrator = userUrl(dialect, url, "ADMINISTRATOR", database);
    return [
      `Read ${statements}, and run it as an administrator of the database. Then give both roles a password:`,
      `psql --set ON_ERROR_STOP=1 --file ${file} ${shellQuoted(administrator)}`,
      `psql --command '\\password ${READER}' ${shellQuoted(administrator)}`,
      `psql --command '\\password ${WRITER}' ${shellQuoted(administrator)}`,
    ];
  }
  const { hostname, port } = new URL(url);
  return [
    `Read ${statements}, and run it as an administrator of the server. Then give both accounts a password:`,
    `mysql --host ${shellWord(hostname)} --port ${port || "3306"} --user ADMINISTRATOR --password < ${file}`,
    `mysql> ALTER USER ${READER} IDENTIFIED BY 'PASSWORD' ACCOUNT UNLOCK;`,
    `mysql> ALTER USER ${WRITER} IDENTIFIED BY 'PASSWORD' ACCOUNT UNLOCK;`,
  ];
}

function setVariables({ dialect, database, baseUrl }: Setup, url: string): readonly string[] {
  const own = dialect === "postgres" ? database : LEDGER_SCHEMA;
  const values = {
    [VARIABLES.source]: userUrl(dialect, url, `${READER}:PASSWORD`, database),
    [VARIABLES.own]: userUrl(dialect, url, `${WRITER}:PASSWORD`, own),
    [VARIABLES.apiKey]: "KEY",
    ...(baseUrl === undefined && { [VARIABLES.baseUrl]: "https://dashboards.example.com" }),
  };
  return [
    "Set the variables that the config names, with these passwords:",
    ...Object.entries(values).map(([name, value]) => `export ${name}=${shellQuoted(value)}`),
  ];
}

function commandLines({ config }: Places): readonly string[] {
  const program = config === "config.yaml" ? "groupsync" : `groupsync --config ${shellWord(config)}`;
  return [
    "Let your editor check the config, then try everything, and start:",
    `groupsync schema > ${shellWord(join(dirname(config), "groupsync.schema.json"))}`,
    `${program} check    # tries what a sync needs, and changes nothing`,
    `${program} probe    # finds out how the service behaves, with one group that is deleted again`,
    `${program} plan     # shows what a sync would do`,
    `${program} sync     # makes the groups, and stores their tokens`,
    `${program} run      # the daemon: keeps them in sync`,
  ];
}
