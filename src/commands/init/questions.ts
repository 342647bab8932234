import { type CatalogTable, titleOf } from "../../core/proposal/catalog.ts";
import { type Choice, idChoices, mappingChoices, nameChoices } from "../../core/proposal/columns.ts";
import { type Proposal, proposals, type WishedMapping, type Wishes } from "../../core/proposal/proposal.ts";
import { quantity } from "../../core/text/quantity.ts";
import type { AnswerProblem, Dialog, DialogOption } from "../../ports/setup/dialog.ts";

const NONE = "(none)";

export const askUrl = (dialog: Dialog, problem: AnswerProblem): Promise<string> =>
  dialog.askSecret("The url of the database: postgres://user:password@host/database or mysql://…", problem);

/** Undefined if the answer is empty. */
export async function askBaseUrl(dialog: Dialog, problem: AnswerProblem): Promise<string | undefined> {
  const answer = await dialog.ask(
    "The address of the service; leave it empty to set it later",
    "https://dashboards.example.com",
    (text) => (text === "" ? undefined : problem(text)),
  );
  return answer || undefined;
}

/**
 * Asks for the table and its columns. The answers at which each question begins are those of the best proposal. What was
 * wished, or has only one answer, is not asked.
 */
export async function askProposal(
  dialog: Dialog,
  fit: readonly Proposal[],
  best: Proposal,
  wishes: Wishes,
): Promise<Proposal> {
  const options = fit.map(({ table, reasons }) => ({
    value: titleOf(table),
    hint: [...reasons, ...(table.rows === null ? [] : [`has about ${quantity(table.rows, "row")}`])].join(
      ", ",
    ),
  }));
  const title = await askOne(dialog, "The table with one row for each tenant", options, titleOf(best.table));
  const proposed = fit.find(({ table }) => titleOf(table) === title) ?? best;
  const { table } = proposed;
  const id =
    wishes.id ?? (await askColumn(dialog, "The column that becomes user_group_id", idChoices(table)));
  const name =
    wishes.name ??
    (await askColumn(dialog, "The column that becomes the group's name", nameChoices(table, id, true)));
  const mapping = wishes.mapping ?? (await askMapping(dialog, table, [id, name]));
  const chosen: Wishes = { table: title, id, name, mapping };
  const properties = await askProperties(dialog, proposals([table], chosen).fit[0] ?? proposed);
  return proposals([table], { ...chosen, properties }).fit[0] ?? proposed;
}

const askColumn = (dialog: Dialog, question: string, choices: readonly Choice[]): Promise<string> =>
  askOne(dialog, question, choices.map(optionOf), choices[0]?.column.name ?? "");

async function askMapping(
  dialog: Dialog,
  table: CatalogTable,
  taken: readonly (string | undefined)[],
): Promise<readonly WishedMapping[]> {
  const choices = mappingChoices(table, taken);
  const [best] = choices;
  if (!best) return [];
  const column = await dialog.choose(
    "The column with the tenant's data source",
    [
      ...choices.map(optionOf),
      { value: NONE, hint: "each group sees the default data source of each schema" },
    ],
    best.column.name,
  );
  if (column === NONE) return [];
  const schemaId = await dialog.ask(
    `The id of the service's schema that takes its data from ${column}; leave it empty to write it later`,
    "40",
    () => undefined,
  );
  return [{ schemaId: schemaId.trim() || null, column }];
}

async function askProperties(dialog: Dialog, { properties }: Proposal): Promise<readonly string[]> {
  const { proposed, others } = properties;
  const options = [...proposed, ...others].map(optionOf);
  if (options.length === 0) return [];
  return dialog.chooseSome(
    "The columns that the dashboards get as properties",
    options,
    proposed.map(({ column }) => column.name),
  );
}

async function askOne(
  dialog: Dialog,
  question: string,
  options: readonly DialogOption[],
  preset: string,
): Promise<string> {
  return options.length > 1 ? dialog.choose(question, options, preset) : preset;
}

const optionOf = ({ column, reason }: Choice): DialogOption => ({
  value: column.name,
  hint: `${column.type}, ${reason}`,
});
