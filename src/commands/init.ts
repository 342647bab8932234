import { dirname, join, normalize } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import type { InitDatabase, InitSetup } from "../compose/init.ts";
import { using } from "../compose/opened.ts";
import { SyncError } from "../core/failure/sync-error.ts";
import { type CatalogTable, tablesNamed, titleOf } from "../core/proposal/catalog.ts";
import { isVisible } from "../core/proposal/columns.ts";
import type { Proposal, WishedMapping, Wishes } from "../core/proposal/proposal.ts";
import { isOursOrNamed, proposals } from "../core/proposal/proposal.ts";
import { configText } from "../core/setup/config-text.ts";
import { mysqlStatements } from "../core/setup/mysql-statements.ts";
import { postgresStatements } from "../core/setup/postgres-statements.ts";
import { fewRows, type Setup } from "../core/setup/setup.ts";
import { printable, shellWord } from "../core/text/printable.ts";
import { quantity } from "../core/text/quantity.ts";
import type { Dialog } from "../ports/setup/dialog.ts";
import type { NewFiles } from "../ports/setup/new-files.ts";
import type { CommandContext, CommandIo } from "./context.ts";
import { examplesAmong, exampleTenants, exampleText } from "./init/example-groups.ts";
import { nextSteps } from "./init/next-steps.ts";
import { ambiguous, noProposal, notOurs, unseenDatabase } from "./init/no-proposal.ts";
import { otherTablesText, proposalText, whoseIs } from "./init/proposal-text.ts";
import { askBaseUrl, askProposal, askUrl } from "./init/questions.ts";

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
  const dialog = flags.yes ? undefined : await setup.dialog?.open();
  const url = await urlOf(setup, flags, command, dialog);
  const baseUrlProblem = flags.baseUrl === undefined ? undefined : setup.baseUrlProblem(flags.baseUrl);
  if (baseUrlProblem !== undefined) command.error(`error: --base-url: ${baseUrlProblem}`);

  await using(await setup.open(url), async (database) => {
    const catalog = await database.catalog.read();
    io.stdout(
      `In ${database.title}, this user sees ${quantity(catalog.tables.length, "table")}, views included.\n`,
    );
    if (!isVisible(catalog.database ?? "")) throw unseenDatabase(catalog);
    const named = flags.table === undefined ? [] : tablesNamed(catalog.tables, flags.table);
    if (flags.table !== undefined && named.length > 1) throw ambiguous(flags.table, named);
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
    if (!dialog && !isOursOrNamed(best.table, wishes)) throw notOurs(best.table);
    const proposal = dialog ? await askProposal(dialog, io.stdout, found.fit, best, wishes) : best;
    const baseUrl = flags.baseUrl ?? (dialog && (await askBaseUrl(dialog, setup.baseUrlProblem)));
    const decided = setupOf(catalog.dialect, catalog.database, proposal, baseUrl);
    const config = configText(decided);

    io.stdout(`\n${proposalText(decided)}${dialog ? "" : otherTablesText(found, proposal)}\n`);
    io.stdout(
      isOursOrNamed(proposal.table, wishes)
        ? await exampleGroups(database, decided, config, io.stop)
        : withoutExamples(proposal.table),
    );
    if (dialog && !(await dialog.confirm(`Write ${places.config} and ${places.statements}?`))) {
      throw new SyncError("INTERRUPTED", "nothing was written");
    }
    const statements =
      decided.dialect === "postgres" ? postgresStatements(decided) : mysqlStatements(decided);
    setup.files.create([
      { path: places.config, text: config },
      { path: places.statements, text: statements },
    ]);
    io.stdout(`\nWrote ${places.config} and ${places.statements}.\n\n${nextSteps(decided, places, url)}`);
  });
}

/** Ends the command if one of the files is there already. */
function placesOf({ output, config }: Flags, files: NewFiles, command: Command) {
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

const setupOf = (
  dialect: Setup["dialect"],
  database: string | null,
  proposal: Proposal,
  baseUrl: string | undefined,
): Setup => ({ dialect, database: database ?? proposal.table.schema, proposal, baseUrl });

/**
 * To plan a query is enough to run a function of whoever made the table: by an index, a type, a policy or a view. A table
 * that was chosen in the dialog, and not typed, may have been made to be taken for another one.
 */
function withoutExamples(table: CatalogTable): string {
  const title = titleOf(table);
  return `No example rows: ${printable(title)} ${whoseIs(table)}, and reading it may run its owner's functions with this user's rights
  if you trust its owner, name it with its schema: --table ${shellWord(title)}
`;
}

/** Rows that can't be read keep nobody from a config: the user of this url is not the role that will read them. */
async function exampleGroups(
  database: InitDatabase,
  setup: Setup,
  config: string,
  stop: AbortSignal,
): Promise<string> {
  const { source, rules } = await database.examples(config, setup.database, fewRows(setup, ROWS_READ));
  try {
    const tenants = await exampleTenants(source, rules, stop);
    return `Rows as the groups that they would become:\n\n${exampleText(examplesAmong(tenants))}`;
  } catch (error) {
    if (!(error instanceof SyncError) || error.code !== "SOURCE_UNAVAILABLE") throw error;
    return `No example rows: ${error.message}\n${error.hint === undefined ? "" : `  ${error.hint}\n`}`;
  }
}

function mapping(text: string, before: readonly WishedMapping[] = []): readonly WishedMapping[] {
  const [, schemaId, column] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (schemaId === undefined || column === undefined) {
    throw new InvalidArgumentError("It has to be a schema id and a column, such as 40=data_source_id.");
  }
  return [...before.filter((one) => one.schemaId !== schemaId), { schemaId, column }];
}
