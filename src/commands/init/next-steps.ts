import { dirname, join } from "node:path";
import {
  LEDGER_SCHEMA,
  READER,
  type Setup,
  UNKNOWN_SCHEMA,
  VARIABLES,
  WRITER,
} from "../../core/setup/setup.ts";
import { userUrl } from "../../core/setup/user-url.ts";
import { shellQuoted, shellWord } from "../../core/text/printable.ts";

/** Where init has written its files. */
export interface Places {
  readonly config: string;
  readonly statements: string;
}

/** What the operator does next, in order. `url` is the one that init was given; its user and password aren't shown. */
export function nextSteps(setup: Setup, places: Places, url: string): string {
  const steps = [
    read(setup, places),
    runStatements(setup, places, url),
    setVariables(setup, url),
    commands(places),
  ];
  const shown = steps.map(([title = "", ...lines], index) =>
    [`${index + 1}. ${title}`, ...lines.map((line) => `     ${line}`)].join("\n"),
  );
  return `What to do next:\n\n${shown.join("\n\n")}\n\ndocs/init.md explains each step.\n`;
}

function read({ proposal: { mapping } }: Setup, { config }: Places): readonly string[] {
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

function commands({ config }: Places): readonly string[] {
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
