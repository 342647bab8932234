import { dirname, join, normalize } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import type { InitSetup } from "../compose/init.ts";
import { type CatalogTable, titleOf } from "../core/setup/catalog.ts";
import { type Choice, isVisible, mappingChoices, nameChoices } from "../core/setup/columns.ts";
import { configText } from "../core/setup/config-text.ts";
import { proposals, type WishedMapping, type Wishes } from "../core/setup/proposal.ts";
import type { Setup } from "../core/setup/setup.ts";
import { statements } from "../core/setup/statements.ts";
import { quantity } from "../core/text/quantity.ts";
import type { Dialog, DialogOption, NewFiles } from "../ports/setup.ts";
import type { CommandContext, CommandIo } from "./context.ts";
import {
  nextSteps,
  noProposal,
  otherTablesText,
  type Places,
  proposalText,
  unseenDatabase,
} from "./output/init.ts";

interface Flags {
  readonly url?: string;
  readonly table?: string;
  readonly id?: string;
  readonly groupName?: string;
  readonly mapping?: readonly WishedMapping[];
  readonly property?: readonly string[];
  readonly baseUrl?: string;
  readonly output?: string;
  readonly yes?: boolean;
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
      "the database: postgres://… or mysql://…; better in DATABASE_URL, out of the shell's history",
    )
    .option("--url <URL>", "the same")
    .option("--table <NAME>", "the table or view with one row for each tenant")
    .option("--id <COLUMN>", "the column that becomes user_group_id")
    .option("--group-name <COLUMN>", "the column that becomes the group's name")
    .option(
      "--mapping <SCHEMA=COLUMN>",
      "a schema id of the service, and the column with its data source; again for each",
      mapping,
    )
    .option(
      "--property <COLUMN>",
      "a column that the dashboards get as a property; again for each",
      (column: string, before: readonly string[] = []) => [...before, column],
    )
    .option("--base-url <URL>", "the address of the service")
    .option("--output <FILE>", "where the config goes, groupsync.sql beside it; otherwise as --config says")
    .option("--yes", "ask nothing, and take the best proposal")
    .action(async (argument: string | undefined, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      const { composeInit } = await import("../compose/init.ts");
      await init(io, composeInit(io), { ...flags, ...(argument !== undefined && { argument }) }, command);
    });

export async function init(
  io: CommandIo,
  setup: InitSetup,
  flags: Flags & { readonly argument?: string },
  command: Command,
): Promise<void> {
  const places = placesOf(flags, setup.files, command);
  const dialog = flags.yes ? undefined : await setup.openDialog();
  const url = await urlOf(setup, flags, command, dialog);
  const baseUrlProblem = flags.baseUrl === undefined ? undefined : setup.baseUrlProblem(flags.baseUrl);
  if (baseUrlProblem !== undefined) command.error(`error: --base-url: ${baseUrlProblem}`);

  const { title, catalog } = await setup.readCatalog(url);
  const { tables } = catalog;
  io.stdout(`In ${title}, this user sees ${quantity(tables.length, "table")}, views included.\n`);
  if (!isVisible(catalog.database ?? "")) throw unseenDatabase(catalog);
  const given: Wishes = {
    table: flags.table,
    id: flags.id,
    name: flags.groupName,
    mapping: flags.mapping,
    properties: flags.property,
  };
  const wishes = dialog ? await ask(dialog, tables, given) : given;
  const { fit, unfit } = proposals(tables, wishes);
  const [proposal] = fit;
  if (!proposal) throw noProposal(unfit, wishes);
  const decided: Setup = {
    dialect: catalog.dialect,
    database: catalog.database ?? proposal.table.schema,
    proposal,
    baseUrl: flags.baseUrl,
  };

  io.stdout(`\n${proposalText(decided)}${otherTablesText(fit)}\n`);
  setup.files.create([
    { path: places.config, text: configText(decided) },
    { path: places.statements, text: statements(decided) },
  ]);
  io.stdout(`Wrote ${places.config} and ${places.statements}.\n\n${nextSteps(decided, places, url)}`);
}

/** Ends the command if one of the files is there already. */
function placesOf({ output, config }: Flags, files: NewFiles, command: Command): Places {
  const path = normalize(output ?? config);
  const places = { config: path, statements: join(dirname(path), "groupsync.sql") };
  const [existing] = files.existing([places.config, places.statements]);
  if (existing !== undefined) {
    command.error(
      `error: ${existing} is there already, and init overwrites nothing; move it, or name another file with --output`,
    );
  }
  return places;
}

async function urlOf(
  setup: InitSetup,
  { argument, url }: Flags & { readonly argument?: string },
  command: Command,
  dialog: Dialog | undefined,
): Promise<string> {
  if (argument !== undefined && url !== undefined) command.error("error: the url is there twice; keep one");
  const given = argument ?? url ?? (setup.url || undefined);
  if (given === undefined) {
    if (dialog)
      return dialog.askSecret(
        "The url of the database: postgres://user:password@host/database or mysql://…",
        setup.urlProblem,
      );
    command.error("error: which database? Write its url into the variable DATABASE_URL, or behind init");
  }
  const problem = setup.urlProblem(given);
  const where = (argument ?? url) ? "the url" : "DATABASE_URL";
  if (problem !== undefined) command.error(`error: ${where} can't be used: ${problem}`);
  return given;
}

const NONE = "(none)";

/**
 * Asks for the table, the name and the mapping, unless they are wished or have only one answer. The answers at which each
 * question begins are those of the best proposal. Resolves to the wishes as they are if no table fits.
 */
async function ask(dialog: Dialog, tables: readonly CatalogTable[], wishes: Wishes): Promise<Wishes> {
  const choose = async (question: string, options: readonly DialogOption[]): Promise<string> => {
    const preset = options[0]?.value ?? "";
    return options.length > 1 ? dialog.choose(question, options, preset) : preset;
  };
  const { fit } = proposals(tables, { ...wishes, anyName: true });
  const titles = fit.map(({ table, reason }) => ({ value: titleOf(table), hint: reason }));
  const title = await choose("The table with one row for each tenant", titles);
  const proposal = fit.find((one) => titleOf(one.table) === title);
  if (!proposal) return wishes;
  const { table } = proposal;
  const id = proposal.id.column.name;
  const names = nameChoices(table, id, true).map(optionOf);
  const name = wishes.name ?? (await choose("The column that becomes the group's name", names));
  const mapping = wishes.mapping ?? (await askMapping(dialog, table, [id, name]));
  return { ...wishes, table: title, id, name, mapping };
}

/** Asked in any case, because without a mapping tenants may see others' data. The config takes more columns. */
async function askMapping(
  dialog: Dialog,
  table: CatalogTable,
  taken: readonly string[],
): Promise<readonly WishedMapping[]> {
  const [proposed] = mappingChoices(table, taken);
  const choices = mappingChoices(table, taken, true);
  if (choices.length === 0) return [];
  const column = await dialog.choose(
    "The column with the tenant's data source",
    [
      ...choices.map(optionOf),
      { value: NONE, hint: "each group sees the default data source of each schema" },
    ],
    proposed?.column.name ?? NONE,
  );
  return column === NONE ? [] : [{ schemaId: null, column }];
}

const optionOf = ({ column, reason }: Choice): DialogOption => ({
  value: column.name,
  hint: `${column.type}, ${reason}`,
});

function mapping(text: string, before: readonly WishedMapping[] = []): readonly WishedMapping[] {
  const [, schemaId, column] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (schemaId === undefined || column === undefined) {
    throw new InvalidArgumentError("It has to be a schema id and a column, such as 40=data_source_id.");
  }
  return [...before.filter((one) => one.schemaId !== schemaId), { schemaId, column }];
}
