import { dirname, join, normalize } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import type { InitDatabase, InitSetup } from "../compose/init.ts";
import { using } from "../compose/opened.ts";
import { SyncError } from "../core/failure/sync-error.ts";
import type { Tenant } from "../core/group/tenant.ts";
import { type CatalogTable, tablesNamed, titleOf } from "../core/proposal/catalog.ts";
import { type Choice, isVisible, mappingChoices, nameChoices } from "../core/proposal/columns.ts";
import { type Proposal, proposals, type WishedMapping, type Wishes } from "../core/proposal/proposal.ts";
import { configText } from "../core/setup/config-text.ts";
import { fewRows, type Setup } from "../core/setup/setup.ts";
import { statements } from "../core/setup/statements.ts";
import { printable } from "../core/text/printable.ts";
import { quantity } from "../core/text/quantity.ts";
import { readTenants } from "../engine/plan/read-tenants.ts";
import type { AnswerProblem, Dialog, DialogOption, NewFiles } from "../ports/setup.ts";
import type { CommandContext, CommandIo } from "./context.ts";
import {
  exampleText,
  needsSchema,
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

/** How many rows are read for examples. */
const ROWS_READ = 100;

/**
 * `groupsync init`: from a database to a config, with the statements for its roles. Reads the catalog and a hundred rows. Writes
 * two new files, and nothing into the database.
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

  await using(await setup.open(url), async (database) => {
    const catalog = await database.catalog.read();
    io.stdout(
      `In ${database.title}, this user sees ${quantity(catalog.tables.length, "table")}, views included.\n`,
    );
    if (!isVisible(catalog.database ?? "")) throw unseenDatabase(catalog);
    if (flags.table !== undefined) insistOnOneTable(catalog.tables, flags.table);
    const wishes: Wishes = {
      table: flags.table,
      id: flags.id,
      name: flags.groupName,
      mapping: flags.mapping,
      properties: flags.property,
      anyName: dialog !== undefined,
    };
    const found = proposals(catalog.tables, wishes);
    const [best] = found.fit;
    if (!best) throw noProposal(catalog, found, wishes);
    const proposal = dialog
      ? await askProposal(dialog, io.stdout, { fit: found.fit, best, wishes, tables: catalog.tables })
      : best;
    const baseUrl = flags.baseUrl ?? (dialog && (await askBaseUrl(dialog, setup.baseUrlProblem)));
    const decided: Setup = {
      dialect: catalog.dialect,
      database: catalog.database ?? proposal.table.schema,
      proposal,
      baseUrl,
    };
    const config = configText(decided);

    io.stdout(`\n${proposalText(decided)}${dialog ? "" : otherTablesText(found, proposal)}\n`);
    io.stdout(await examples(database, decided, config, io.stop));
    if (dialog && !(await dialog.confirm(`Write ${places.config} and ${places.statements}?`))) {
      throw new SyncError("INTERRUPTED", "nothing was written");
    }
    setup.files.create([
      { path: places.config, text: config },
      { path: places.statements, text: statements(decided) },
    ]);
    io.stdout(`\nWrote ${places.config} and ${places.statements}.\n\n${nextSteps(decided, places, url)}`);
  });
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
    if (dialog) return askUrl(dialog, setup.urlProblem);
    command.error("error: which database? Write its url into the variable DATABASE_URL, or behind init");
  }
  const problem = setup.urlProblem(given);
  const where = (argument ?? url) ? "the url" : "DATABASE_URL";
  if (problem !== undefined) command.error(`error: ${where} can't be used: ${problem}`);
  return given;
}

/** A name with a schema is that of one table. Without a schema it has to be that of one of this user's own alone. */
function insistOnOneTable(tables: readonly CatalogTable[], text: string): void {
  const named = tablesNamed(tables, text);
  const isExact = named.some((table) => titleOf(table) === text);
  if (!isExact && (named.length > 1 || named.some(({ isOurs }) => !isOurs))) throw needsSchema(text, named);
}

/** Rows that can't be read keep nobody from a config: the user of this url is not the role that will read them. */
async function examples(
  database: InitDatabase,
  setup: Setup,
  config: string,
  stop: AbortSignal,
): Promise<string> {
  const { rules, open } = await database.examples(config, setup.database, fewRows(setup, ROWS_READ));
  try {
    const snapshot = await open(stop);
    try {
      const tenants: Tenant[] = [];
      for await (const batch of readTenants(snapshot.rows(), rules)) tenants.push(...batch);
      return `Rows as the groups that they would become:\n\n${exampleText(tenants)}`;
    } finally {
      await snapshot.close();
    }
  } catch (error) {
    if (!(error instanceof SyncError) || error.code !== "SOURCE_UNAVAILABLE") throw error;
    return `No example rows: ${error.message}\n${error.hint === undefined ? "" : `  ${error.hint}\n`}`;
  }
}

const NONE = "(none)";

const askUrl = (dialog: Dialog, problem: AnswerProblem): Promise<string> =>
  dialog.askSecret("The url of the database: postgres://user:password@host/database or mysql://…", problem);

/** Undefined if the answer is empty. */
async function askBaseUrl(dialog: Dialog, problem: AnswerProblem): Promise<string | undefined> {
  const answer = await dialog.ask(
    "The address of the service; leave it empty to set it later",
    "https://dashboards.example.com",
    (text) => (text === "" ? undefined : problem(text)),
  );
  return answer || undefined;
}

interface Asked {
  readonly fit: readonly Proposal[];
  readonly best: Proposal;
  readonly wishes: Wishes;
  readonly tables: readonly CatalogTable[];
}

/**
 * Asks for the table, the name and the mapping. The answers at which each question begins are those of the best proposal.
 * What was wished is not asked. What has only one answer is told.
 */
async function askProposal(
  dialog: Dialog,
  tell: (text: string) => void,
  { fit, best, wishes, tables }: Asked,
): Promise<Proposal> {
  const askOne = async (question: string, options: readonly DialogOption[]): Promise<string> => {
    const preset = options[0]?.value ?? "";
    if (options.length > 1) return dialog.choose(question, options, preset);
    tell(`${question}: ${printable(preset)}, for no other fits\n`);
    return preset;
  };
  const titles = fit.map(({ table, reasons }) => ({ value: titleOf(table), hint: reasons.join(", ") }));
  const title = wishes.table ?? (await askOne("The table with one row for each tenant", titles));
  const { table, id: proposedId } = fit.find((one) => titleOf(one.table) === title) ?? best;
  const id = proposedId.column.name;
  const names = nameChoices(table, id, true).map(optionOf);
  const name = wishes.name ?? (await askOne("The column that becomes the group's name", names));
  const mapping = wishes.mapping ?? (await askMapping(dialog, table, [id, name]));
  const [answered] = proposals(tables, { ...wishes, table: titleOf(table), id, name, mapping }).fit;
  if (!answered) throw new Error("the answers fit no table");
  return answered;
}

/** Asked in any case, because without a mapping tenants may see others' data. The config takes more columns. */
async function askMapping(
  dialog: Dialog,
  table: CatalogTable,
  taken: readonly string[],
): Promise<readonly WishedMapping[] | undefined> {
  const [proposed] = mappingChoices(table, taken);
  const choices = mappingChoices(table, taken, true);
  if (choices.length === 0) return undefined;
  const column = await dialog.choose(
    "The column with the tenant's data source",
    [
      ...choices.map(optionOf),
      { value: NONE, hint: "each group sees the default data source of each schema" },
    ],
    proposed?.column.name ?? NONE,
  );
  if (column === NONE) return [];
  const answer = await dialog.ask(
    `The id of the service's schema that takes its data from ${column}; several with commas; leave it empty to write it later`,
    "40",
    () => undefined,
  );
  const schemaIds = new Set(answer.split(",").map((id) => id.trim()));
  schemaIds.delete("");
  return schemaIds.size === 0
    ? [{ schemaId: null, column }]
    : [...schemaIds].map((schemaId) => ({ schemaId, column }));
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
