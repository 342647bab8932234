import { type CatalogTable, titleOf } from "../../core/proposal/catalog.ts";
import { type Choice, idChoices, mappingChoices, nameChoices } from "../../core/proposal/columns.ts";
import {
  isOursOrNamed,
  type Proposal,
  proposals,
  type WishedMapping,
  type Wishes,
} from "../../core/proposal/proposal.ts";
import { printable } from "../../core/text/printable.ts";
import { quantity } from "../../core/text/quantity.ts";
import type { AnswerProblem, Dialog, DialogOption } from "../../ports/setup/dialog.ts";
import { notOurs } from "./no-proposal.ts";
import { ownerOf } from "./proposal-text.ts";

const NONE = "(none)";

/** Shows the person a text. */
type Tell = (text: string) => void;

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
 * wished is not asked. What has only one answer is told. If the best table is another owner's, the question begins at none.
 * Rejects with CONFIG_PROPOSAL if none is chosen.
 */
export async function askProposal(
  dialog: Dialog,
  tell: Tell,
  fit: readonly Proposal[],
  best: Proposal,
  wishes: Wishes,
): Promise<Proposal> {
  const tables = fit.map(({ table, reasons }) => ({
    value: titleOf(table),
    hint: [
      ...reasons,
      ...ownerOf(table),
      ...(table.rows === null ? [] : [`has about ${quantity(table.rows, "row")}`]),
    ].join(", "),
  }));
  const askOne = async (
    question: string,
    options: readonly DialogOption[],
    preset: string,
    wish?: string,
  ): Promise<string> => {
    if (options.length > 1) return dialog.choose(question, options, preset);
    if (wish === undefined) tell(`${question}: ${printable(preset)}, for no other fits\n`);
    return preset;
  };
  const askColumn = (question: string, choices: readonly Choice[]): Promise<string> =>
    askOne(question, choices.map(optionOf), choices[0]?.column.name ?? "");

  const hasPreset = isOursOrNamed(best.table, wishes);
  const title = await askOne(
    "The table with one row for each tenant",
    hasPreset ? tables : [{ value: NONE, hint: "none of these is this user's" }, ...tables],
    hasPreset ? titleOf(best.table) : NONE,
    wishes.table,
  );
  if (title === NONE) throw notOurs(best.table);
  const proposed = fit.find(({ table }) => titleOf(table) === title) ?? best;
  const { table } = proposed;
  const id = wishes.id ?? (await askColumn("The column that becomes user_group_id", idsBesideName(table)));
  const name =
    wishes.name ??
    (await askColumn("The column that becomes the group's name", nameChoices(table, id, true)));
  const mapping = wishes.mapping ?? (await askMapping(dialog, table, [id, name]));
  const chosen: Wishes = { table: title, id, name, mapping };
  const properties =
    wishes.properties ?? (await askProperties(dialog, proposals([table], chosen).fit[0] ?? proposed));
  const [answered] = proposals([table], { ...chosen, properties }).fit;
  if (!answered) throw new Error("the answers fit no table");
  return answered;
}

/** Without those that leave no column for the name. */
const idsBesideName = (table: CatalogTable): readonly Choice[] =>
  idChoices(table).filter(({ column }) => nameChoices(table, column.name, true).length > 0);

/** Asks for one column after the other: for the first in any case, because without a mapping tenants may see others' data. */
async function askMapping(
  dialog: Dialog,
  table: CatalogTable,
  taken: readonly string[],
): Promise<readonly WishedMapping[]> {
  const mapping: WishedMapping[] = [];
  for (;;) {
    const rest = [...taken, ...mapping.map(({ column }) => column)];
    const [proposed] = mappingChoices(table, rest);
    const choices = mappingChoices(table, rest, true);
    const isFirst = mapping.length === 0;
    if (choices.length === 0 || !(isFirst || proposed)) return mapping;
    const none = isFirst ? "each group sees the default data source of each schema" : "that is all";
    const column = await dialog.choose(
      isFirst ? "The column with the tenant's data source" : "The column with another data source",
      [...choices.map(optionOf), { value: NONE, hint: none }],
      (isFirst && proposed?.column.name) || NONE,
    );
    if (column === NONE) return mapping;
    const answer = await dialog.ask(
      `The id of the service's schema that takes its data from ${column}; several with commas; leave it empty to write it later`,
      "40",
      (text) => takenTwice([...mapping.flatMap(({ schemaId }) => schemaId ?? []), ...idsIn(text)]),
    );
    const schemaIds = idsIn(answer);
    // The config has one placeholder: whoever doesn't know the ids adds the other columns later.
    if (schemaIds.length === 0) return [...mapping, { schemaId: null, column }];
    mapping.push(...schemaIds.map((schemaId) => ({ schemaId, column })));
  }
}

const idsIn = (answer: string): readonly string[] =>
  answer
    .split(",")
    .map((id) => id.trim())
    .filter((id) => id !== "");

function takenTwice(schemaIds: readonly string[]): string | undefined {
  const twice = schemaIds.find((id, index) => schemaIds.indexOf(id) < index);
  return twice === undefined ? undefined : `schema ${twice} has a column already`;
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

const optionOf = ({ column, reason }: Choice): DialogOption => ({
  value: column.name,
  hint: `${column.type}, ${reason}`,
});
