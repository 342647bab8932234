import { basename, dirname, join } from "node:path";
import { SyncError } from "../../core/failure/sync-error.ts";
import { titleOf, titleWithOwner } from "../../core/setup/catalog.ts";
import { removalCondition } from "../../core/setup/config-text.ts";
import type { Proposal, Unfit, Wishes } from "../../core/setup/proposal.ts";
import {
  LEDGER_SCHEMA,
  READER,
  SECRETS,
  SECRETS_FOLDER,
  type Setup,
  UNKNOWN_SCHEMA,
  WRITER,
} from "../../core/setup/setup.ts";
import { printable, shellQuoted, shellWord } from "../../core/text/printable.ts";
import { tlsFileNames, tlsParameters } from "../../core/tls/database-tls.ts";

/** How many tables or columns are named. */
const MOST_NAMED = 10;

/** What was chosen, line by line, with the reasons. */
export function proposalText({ dialect, proposal }: Setup): string {
  const { table, reason, id, name, mapping, properties, removals, status, joined, change } = proposal;
  const owner = table.isOurs || table.owner === null ? "" : `, and belongs to ${table.owner}`;
  const lines: (readonly [key: string, value: string, reason: string])[] = [
    ["source.table", titleOf(table), `${reason}${owner}`],
    ["group.id", id.column.name, id.reason],
    ["group.name", name.column.name, name.reason],
    ...mapping.map(
      ({ schemaId, column, reason }) =>
        [`group.mapping.${schemaId ?? UNKNOWN_SCHEMA}`, column.name, reason] as const,
    ),
    ...properties.map(
      ({ column, reason }) => [`group.properties.${column.name}`, column.name, reason] as const,
    ),
    ...(removals.length > 0
      ? [["source.removed_when", removalCondition(dialect, removals), "says which tenants are gone"] as const]
      : []),
    ...(status
      ? [
          [
            "source.removed_when",
            status.name,
            "may say which tenants are gone; as a comment, for only you know its values",
          ] as const,
        ]
      : []),
    ...(joined
      ? [
          [
            "source.query",
            `${titleOf(joined.table)}.${joined.dataSource.name}`,
            "sounds like the tenant's data source; the query is a comment",
          ] as const,
        ]
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
export function otherTablesText([, ...others]: readonly Proposal[]): string {
  const titles = others.map(({ table }) => titleWithOwner(table));
  return titles.length === 0 ? "" : `Other tables that would fit, with --table: ${listed(titles)}\n`;
}

/** The error if no table can have the tenants: it says what each of the nearest tables lacks. */
export function noProposal(unfit: readonly Unfit[], { table }: Wishes): SyncError {
  const [nearest] = unfit;
  if (nearest === undefined)
    return proposalError(
      `this user sees no table${table === undefined ? "" : ` ${printable(table)}`} in this database`,
      "is it the right database, and the right user? A user without rights to a table may not even see it",
    );
  const lines = unfit.slice(0, MOST_NAMED).map((one) => {
    const columns = one.table.columns.map(({ name }) => name);
    return `  ${printable(titleWithOwner(one.table))}: ${printable(one.lacks)}; its columns: ${listed(columns)}`;
  });
  return proposalError(
    unfit.length === 1
      ? `${printable(titleOf(nearest.table))} can't have the tenants: ${printable(nearest.lacks)}`
      : "no table has a unique id, a name, and the columns that the options name",
    [
      "choose with --table, --id and --group-name, or make a view that has a unique id and a name",
      ...lines,
      ...(unfit.length > MOST_NAMED ? ["  …"] : []),
    ].join("\n"),
  );
}

const proposalError = (message: string, hint: string): SyncError =>
  new SyncError("CONFIG_PROPOSAL", message, { hint });

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
    runStatements(places),
    setSecrets(setup, url),
    setup.place === "container" ? CONTAINER_COMMANDS : commandLines(places),
  ];
  const shown = steps.map(([title = "", ...lines], index) =>
    [`${index + 1}. ${title}`, ...lines.map((line) => `     ${line}`)].join("\n"),
  );
  return `What to do next:\n\n${shown.join("\n\n")}\n`;
}

function readConfig({ proposal: { mapping, joined } }: Setup, { config }: Places): readonly string[] {
  const column = mapping.find(({ schemaId }) => schemaId === null)?.column.name;
  if (column !== undefined) {
    return [
      `In ${config}, write the id of the service's schema in place of ${UNKNOWN_SCHEMA} in group.mapping. Read the rest, too.`,
    ];
  }
  if (joined !== null) {
    const source = printable(`${titleOf(joined.table)}.${joined.dataSource.name}`);
    return [
      `Read ${config}. If ${source} has the tenants' data sources, take the query that is a comment there.`,
    ];
  }
  if (mapping.length > 0) return [`Read ${config}: is each group what the tenant should have?`];
  return [
    `Read ${config}. Without group.mapping each group sees the default data source of each schema: is that what you want?`,
  ];
}

const runStatements = ({ statements }: Places): readonly string[] => [
  `Read ${statements}. Run it as an administrator of the database, and give both roles a password: its first lines say how.`,
];

/** The secrets of the config. On MySQL the url of the ledger names the ledger's own database. */
function setSecrets({ dialect, database, baseUrl, place }: Setup, url: string): readonly string[] {
  const own = dialect === "postgres" ? database : LEDGER_SCHEMA;
  const mounted = mountedFiles(dialect, url);
  const reached = place === "container" ? mounted.url : url;
  const values = {
    sourceUrl: userUrl(dialect, reached, `${READER}:PASSWORD`, database),
    databaseUrl: userUrl(dialect, reached, `${WRITER}:PASSWORD`, own),
    apiKey: "KEY",
  };
  const names = Object.keys(values) as (keyof typeof values)[];
  if (place === "container")
    return [
      "Write the files that the config reads, with these passwords, and the host as the container reaches it:",
      "mkdir -p -m 700 secrets",
      ...names.map((name) => `printf %s ${shellQuoted(values[name])} > secrets/${SECRETS[name].file}`),
      ...mounted.copies,
    ];
  return [
    "Set the variables that the config names, with these passwords:",
    ...names.map((name) => `export ${SECRETS[name].variable}=${shellQuoted(values[name])}`),
    ...(baseUrl === undefined ? ["export GROUPSYNC_BASE_URL='https://dashboards.example.com'"] : []),
  ];
}

/** The url with the files of TLS where a container finds them, and the commands that copy them into the folder of secrets. */
function mountedFiles(dialect: Setup["dialect"], url: string) {
  const mounted = new URL(url);
  const copies: string[] = [];
  for (const name of Object.values(tlsFileNames(dialect))) {
    const path = mounted.searchParams.get(name);
    if (path === null || path === "system") continue;
    mounted.searchParams.set(name, `${SECRETS_FOLDER}/${basename(path)}`);
    copies.push(`cp ${shellQuoted(path)} secrets/`);
  }
  return { url: mounted.href, copies };
}

const CONTAINER_COMMANDS = [
  `Mount the config as /etc/groupsync/config.yaml and the secrets as ${SECRETS_FOLDER}. Run check, probe, plan and sync there before the daemon.`,
];

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

/**
 * The url by which a user reaches a database of the server in `url`. It keeps host, port and TLS, and nothing else: what
 * else is there may be a secret. `user` stands in it as it is, with or without a password.
 */
export function userUrl(dialect: Setup["dialect"], url: string, user: string, database: string): string {
  const { protocol, host, searchParams } = new URL(url);
  const kept = dialect === "postgres" ? ["host", "port", ...tlsParameters(dialect)] : tlsParameters(dialect);
  const query = [...searchParams]
    .filter(([name]) => kept.includes(name))
    .map(([name, value]) => `${name}=${encodeURIComponent(value).replaceAll("%2F", "/")}`);
  const parameters = query.length > 0 ? `?${query.join("&")}` : "";
  return `${protocol}//${user}@${host || "localhost"}/${encodeURIComponent(database)}${parameters}`;
}
