import { SyncError } from "../../core/failure/sync-error.ts";
import { type Catalog, type CatalogTable, titleOf, titleWithOwner } from "../../core/proposal/catalog.ts";
import type { Proposals, Unfit, Wishes } from "../../core/proposal/proposal.ts";
import { printable, shellWord } from "../../core/text/printable.ts";
import { whoseIs } from "./proposal-text.ts";

/** How many tables are named. */
const MOST_NAMED = 10;

/** The error if no table can have the tenants: it says what each of the nearest tables lacks. */
export function noProposal(
  { tables, database }: Catalog,
  { unfit }: Pick<Proposals, "unfit">,
  wishes: Wishes,
): SyncError {
  if (tables.length === 0) {
    return new SyncError(
      "CONFIG_PROPOSAL",
      `this user sees no table in ${database === null ? "any database" : `the database ${printable(database)}`}`,
      {
        hint: "is it the right database, and the right user? A user without rights to a table may not even see it",
      },
    );
  }
  if (unfit.length === 0) {
    return new SyncError(
      "CONFIG_PROPOSAL",
      `there is no table ${printable(wishes.table ?? "")} that this user may see`,
      {
        hint: `--table takes one of ${listed(tables.map(titleOf))}`,
      },
    );
  }
  const [nearest] = unfit;
  if (nearest && unfit.length === 1) {
    return new SyncError(
      "CONFIG_PROPOSAL",
      `${printable(titleOf(nearest.table))} can't have the tenants: ${printable(nearest.lacks)}`,
      { hint: `choose with --table, --id and --group-name, or make a view${columnsOf(nearest)}` },
    );
  }
  const isAsked = [wishes.id, wishes.name, wishes.mapping, wishes.properties].some(
    (one) => one !== undefined,
  );
  const lacks = isAsked
    ? "a unique id, a name, and the columns that the options name"
    : "a unique id and a name for each tenant";
  return new SyncError("CONFIG_PROPOSAL", `no table has ${lacks}`, {
    hint: [
      "choose with --table, --id and --group-name, or make a view that has both. The nearest:",
      ...unfit
        .slice(0, MOST_NAMED)
        .map((one) => `  ${printable(titleWithOwner(one.table))}: ${printable(one.lacks)}${columnsOf(one)}`),
    ].join("\n"),
  });
}

/** The error if a name without a schema is that of several tables: any of them could be a stranger's. */
export const ambiguous = (text: string, tables: readonly CatalogTable[]): SyncError =>
  new SyncError("CONFIG_PROPOSAL", `there are ${tables.length} tables ${printable(text)}`, {
    hint: `write one of them behind --table, with its schema: ${listed(tables.map(titleWithOwner))}`,
  });

/** The error if a table of another owner would be taken that nobody has named with its schema. */
export const notOurs = (table: CatalogTable): SyncError =>
  new SyncError(
    "CONFIG_PROPOSAL",
    `${printable(titleOf(table))} ${whoseIs(table)}, and was not named with its schema`,
    {
      hint: `reading it may run its owner's functions with this user's rights. If you trust its owner: --table ${shellWord(titleOf(table))}`,
    },
  );

/** The error if the database's name can't stand in the statements so that a reader sees it. */
export const unseenDatabase = ({ database }: Pick<Catalog, "database">): SyncError =>
  new SyncError(
    "CONFIG_PROPOSAL",
    `the name of the database has characters that nobody sees: ${printable(database ?? "")}`,
    { hint: "rename the database, or write config.yaml and the GRANTs by hand: see docs/security.md" },
  );

const columnsOf = ({ table: { columns } }: Unfit): string =>
  columns.length > 0 ? `; its columns: ${listed(columns.map(({ name }) => name))}` : "";

const listed = (names: readonly string[]): string =>
  [
    ...names.slice(0, MOST_NAMED).map((name) => printable(name)),
    ...(names.length > MOST_NAMED ? ["…"] : []),
  ].join(", ");
