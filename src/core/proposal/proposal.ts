import { type CatalogTable, tablesNamed, titleOf } from "./catalog.ts";
import {
  type Choice,
  canBeRule,
  changeChoices,
  idChoices,
  isVisible,
  mappingChoices,
  nameChoices,
  type PropertyChoices,
  propertyChoices,
  type Removal,
  removals,
} from "./columns.ts";
import { tableRank } from "./table-rank.ts";

/** A table that may have the tenants, and what becomes of its columns. */
export interface Proposal {
  readonly table: CatalogTable;
  /** Why this table; clauses without a subject. */
  readonly reasons: readonly string[];
  readonly id: Choice;
  readonly name: Choice;
  /** Schema id to column. A null in place of the schema id: only the operator knows it. */
  readonly mapping: readonly Mapped[];
  readonly properties: PropertyChoices;
  readonly removals: readonly Removal[];
  readonly change: Choice | null;
}

export interface Mapped extends Choice {
  readonly schemaId: string | null;
}

/** What the operator has chosen. What is left out is proposed. */
export interface Wishes {
  /** `name` or `schema.name`. */
  readonly table?: string | undefined;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  /** A person will choose the name: any text will do. Tables without a column that sounds like a name come last. */
  readonly anyName?: boolean | undefined;
  readonly mapping?: readonly WishedMapping[] | undefined;
  /** The columns of the properties. */
  readonly properties?: readonly string[] | undefined;
}

export interface WishedMapping {
  /** Null if the operator doesn't know it yet. */
  readonly schemaId: string | null;
  readonly column: string;
}

/** A table that was not proposed, and what it lacks. */
export interface Unfit {
  readonly table: CatalogTable;
  readonly lacks: string;
}

export interface Proposals {
  /** The best one first; tables of other owners are behind all of the user's. */
  readonly fit: readonly Proposal[];
  /** The nearest one first. */
  readonly unfit: readonly Unfit[];
}

/** Whether the table may be taken and read without a question: whoever made another one may have made it for this. */
export const isOursOrNamed = (table: CatalogTable, wishes: Pick<Wishes, "table">): boolean =>
  table.isOurs || titleOf(table) === wishes.table;

/** Looks at every table that the wishes allow. */
export function proposals(tables: readonly CatalogTable[], wishes: Wishes = {}): Proposals {
  const fit: { readonly proposal: Proposal; readonly rank: number }[] = [];
  const unfit: { readonly unfit: Unfit; readonly rank: number }[] = [];
  for (const table of wishes.table === undefined ? tables : tablesNamed(tables, wishes.table)) {
    const { rank, reasons } = tableRank(table);
    const found = proposalOf(table, reasons, wishes);
    if (typeof found === "string") unfit.push({ unfit: { table, lacks: found }, rank });
    else fit.push({ proposal: found, rank: rank + worth(found) - (isNamelike(found) ? 0 : BEHIND_ALL) });
  }
  const order = <T extends { readonly rank: number }>(
    found: readonly T[],
    table: (one: T) => CatalogTable,
  ): readonly T[] =>
    found.toSorted(
      (a, b) =>
        Number(table(b).isOurs) - Number(table(a).isOurs) ||
        b.rank - a.rank ||
        (titleOf(table(a)) < titleOf(table(b)) ? -1 : 1),
    );
  return {
    fit: order(fit, ({ proposal }) => proposal.table).map(({ proposal }) => proposal),
    unfit: order(unfit, (one) => one.unfit.table).map((one) => one.unfit),
  };
}

/** The proposal, or what the table lacks. */
function proposalOf(table: CatalogTable, reasons: readonly string[], wishes: Wishes): Proposal | string {
  if (!table.isReadable) return "this user may not read it";
  if (!isVisible(titleOf(table))) return "its name has characters that nobody sees";
  const ids = idChoices(table);
  const id = chosen(table, wishes.id, ids) ?? ids[0];
  const names = nameChoices(table, id?.column.name, wishes.anyName);
  const name = chosen(table, wishes.name, names) ?? names[0];
  if (wishes.id !== undefined && id?.column.name !== wishes.id) return `it has no column ${wishes.id}`;
  if (wishes.name !== undefined && name?.column.name !== wishes.name)
    return `it has no column ${wishes.name}`;
  if (!id || !name) {
    const lacks = [...(id ? [] : ["no unique id"]), ...(name ? [] : ["no column that could be a name"])];
    return `it has ${lacks.join(" and ")}`;
  }
  const mapping = mapped(table, [id.column.name, name.column.name], wishes.mapping);
  if (typeof mapping === "string") return mapping;
  const removed = removals(table);
  const change = changeChoices(table)[0] ?? null;
  const taken = [id, name, ...mapping, ...removed, ...(change ? [change] : [])];
  const properties = propertiesOf(
    table,
    taken.map(({ column }) => column.name),
    wishes.properties,
  );
  if (typeof properties === "string") return properties;
  return {
    table,
    reasons,
    id,
    name,
    mapping,
    properties,
    removals: removed,
    change,
  };
}

/** A column that was wished. If it would have been proposed, too, the reason is that of the proposal. */
function chosen(
  table: CatalogTable,
  name: string | undefined,
  choices: readonly Choice[],
): Choice | undefined {
  const column = table.columns.find((one) => one.name === name && canBeRule(one.name));
  return (
    choices.find((choice) => choice.column.name === name) ?? (column && { column, reason: "was chosen" })
  );
}

/** The columns, or what the table lacks. */
function mapped(
  table: CatalogTable,
  taken: readonly string[],
  wished: readonly WishedMapping[] | undefined,
): readonly Mapped[] | string {
  const choices = mappingChoices(table, taken);
  const [best] = choices;
  if (wished === undefined) return best ? [{ ...best, schemaId: null }] : [];
  const found: Mapped[] = [];
  for (const { schemaId, column } of wished) {
    const choice = chosen(table, column, choices);
    if (!choice) return `it has no column ${column}`;
    found.push({ ...choice, schemaId });
  }
  return found;
}

/** The columns, or what the table lacks. */
function propertiesOf(
  table: CatalogTable,
  taken: readonly string[],
  wished: readonly string[] | undefined,
): PropertyChoices | string {
  const choices = propertyChoices(table, taken);
  if (wished === undefined) return choices;
  const all = [...choices.proposed, ...choices.others];
  const proposed: Choice[] = [];
  for (const name of new Set(wished)) {
    const choice = chosen(table, name, all);
    if (!choice) return `it has no column ${name}`;
    proposed.push(choice);
  }
  const isLeft = (name: string): boolean => !wished.includes(name);
  return {
    proposed,
    others: all.filter(({ column }) => isLeft(column.name)),
    withheld: choices.withheld.filter(isLeft),
  };
}

/** More than any rank. */
const BEHIND_ALL = 1_000;

const isNamelike = ({ table, id, name }: Proposal): boolean =>
  nameChoices(table, id.column.name).some(({ column }) => column === name.column);

/** What speaks for a table beside its name and its keys: that it has what the config can use. */
const worth = ({ mapping, removals, change, properties }: Proposal): number =>
  (mapping.length > 0 ? 4 : 0) +
  (removals.length > 0 ? 1 : 0) +
  (change ? 1 : 0) +
  (properties.proposed.length > 0 ? 1 : 0);
