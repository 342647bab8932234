import { dirname, join, normalize } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import type { InitSetup } from "../compose/init.ts";
import { configText } from "../core/setup/config-text.ts";
import { proposals, type WishedMapping } from "../core/setup/proposal.ts";
import type { Setup } from "../core/setup/setup.ts";
import { statements } from "../core/setup/statements.ts";
import { quantity } from "../core/text/quantity.ts";
import type { CommandContext, CommandIo } from "./context.ts";
import { nextSteps, noProposal, otherTablesText, type Places, proposalText } from "./output/init.ts";

interface Flags {
  readonly table?: string;
  readonly id?: string;
  readonly groupName?: string;
  readonly mapping?: readonly WishedMapping[];
  readonly property?: readonly string[];
  readonly baseUrl?: string;
  readonly for?: "container";
  readonly accountHost?: string;
  readonly output?: string;
  /** A global option: the config file of all commands. */
  readonly config: string;
}

/**
 * `groupsync init`: from a database to a config, with the statements for its roles. Reads the catalog, and no row. Writes two
 * new files, and nothing into the database.
 */
export const initCommand = ({ io }: CommandContext): Command =>
  new Command("init")
    .description("write a config and the statements for its roles, from the database's catalog")
    .argument(
      "[URL]",
      "the database: postgres://… or mysql://…; DATABASE_URL keeps the url out of the shell's history",
    )
    .option("--table <NAME>", "the table or view with one row for each tenant")
    .option("--id <COLUMN>", "the column that becomes user_group_id")
    .option("--group-name <COLUMN>", "the column that becomes the group's name")
    .option(
      "--mapping <SCHEMA=COLUMN>",
      "a schema id of the service, and the column with its data source (repeatable)",
      mapping,
    )
    .option(
      "--property <COLUMN>",
      "a column that the dashboards get as a property (repeatable)",
      (column: string, before: readonly string[] = []) => [...before, column],
    )
    .option("--base-url <URL>", "the address of the service")
    .addOption(
      new Option("--for <PLACE>", "write a config for this place, with the secrets in files").choices([
        "container",
      ]),
    )
    .option(
      "--account-host <HOST>",
      "with MySQL or MariaDB: the host from which groupsync's accounts log in",
      accountHost,
    )
    .option(
      "--output <FILE>",
      "the config file to write, with groupsync.sql beside it (default: that of --config)",
    )
    .action(async (argument: string | undefined, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      const { composeInit } = await import("../compose/init.ts");
      await init(io, composeInit(io), argument, flags, command);
    });

export async function init(
  io: CommandIo,
  setup: InitSetup,
  argument: string | undefined,
  flags: Flags,
  command: Command,
): Promise<void> {
  const path = normalize(flags.output ?? flags.config);
  const places: Places = { config: path, statements: join(dirname(path), "groupsync.sql") };
  const url = urlOf(setup, argument, command);
  const baseUrlProblem = flags.baseUrl === undefined ? undefined : setup.baseUrlProblem(flags.baseUrl);
  if (baseUrlProblem !== undefined) command.error(`error: --base-url: ${baseUrlProblem}`);

  if (flags.for === "container" && flags.baseUrl === undefined)
    command.error("error: --for container needs --base-url: a container gets no variables");

  const { title, catalog } = await setup.readCatalog(url);
  const { tables } = catalog;
  io.stdout(`In ${title}, this user sees ${quantity(tables.length, "table")}, views included.\n`);
  const wishes = {
    table: flags.table,
    id: flags.id,
    name: flags.groupName,
    mapping: flags.mapping,
    properties: flags.property,
  };
  const { fit, unfit } = proposals(tables, wishes);
  const [proposal] = fit;
  if (!proposal) throw noProposal(unfit, wishes);
  const decided: Setup = {
    dialect: catalog.dialect,
    database: catalog.database ?? proposal.table.schema,
    proposal,
    baseUrl: flags.baseUrl,
    place: flags.for ?? "shell",
    accountHost: flags.accountHost,
  };

  io.stdout(`\n${proposalText(decided)}${otherTablesText(fit)}\n`);
  setup.createFiles([
    { path: places.config, text: configText(decided) },
    { path: places.statements, text: statements(decided) },
  ]);
  io.stdout(`Wrote ${places.config} and ${places.statements}.\n\n${nextSteps(decided, places, url)}`);
}

function urlOf(setup: InitSetup, argument: string | undefined, command: Command): string {
  const given = argument ?? (setup.url || undefined);
  if (given === undefined)
    command.error("error: which database? Write its url into the variable DATABASE_URL, or behind init");
  const problem = setup.urlProblem(given);
  const where = argument === undefined ? "DATABASE_URL" : "the url";
  if (problem !== undefined) command.error(`error: ${where} can't be used: ${problem}`);
  return given;
}

function accountHost(text: string): string {
  if (!/^[\w.:/%-]+$/.test(text))
    throw new InvalidArgumentError("It has to be a host or a pattern of MySQL, such as 10.20.%.");
  return text;
}

function mapping(text: string, before: readonly WishedMapping[] = []): readonly WishedMapping[] {
  const [, schemaId, column] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (schemaId === undefined || column === undefined) {
    throw new InvalidArgumentError("It has to be a schema id and a column, such as 40=data_source_id.");
  }
  return [...before.filter((one) => one.schemaId !== schemaId), { schemaId, column }];
}
