import { quantity } from "../text/quantity.ts";
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
  wordsOf,
} from "./columns.ts";

/** A table that may have the tenants, and what becomes of its columns. */
export interface Proposal {
  readonly table: CatalogTable;
  /** Why this table; clauses without a subject. */
  readonly reasons: readonly string[];
  readonly id: Choice;
  readonly name: Choice;
  /** Schema id to column. A null in place of the schema id: only the operator knows it. */
  readonly mapping: readonly Mapped[];
  /** Where the data source seems to be, if not in the table itself; for a comment in the config. */
  readonly mappingBeside: MappingBeside | null;
  readonly properties: PropertyChoices;
  readonly removals: readonly Removal[];
  readonly change: Choice | null;
}

export interface Mapped extends Choice {
  readonly schemaId: string | null;
}

/** A column with the tenant's data source in a table whose foreign key names the tenant. */
export interface MappingBeside {
  readonly table: CatalogTable;
  /** The column of the foreign key. */
  readonly link: string;
  readonly column: string;
}

/** What the operator has chosen. What is left out is proposed. */
export interface Wishes {
  /** `name` or `schema.name`. */
  readonly table?: string | undefined;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  /** A person will choose the name: any text will do. */
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
  /** The best one first. */
  readonly fit: readonly Proposal[];
  /** The nearest one first. */
  readonly unfit: readonly Unfit[];
}

/**
 * Looks at this user's own tables, or at the one that the operator names. Whoever has made another table may have made it
 * to be taken for this one, and to read a table may run its owner's functions.
 */
export function proposals(tables: readonly CatalogTable[], wishes: Wishes = {}): Proposals {
  const asked =
    wishes.table === undefined ? tables.filter(({ isOurs }) => isOurs) : tablesNamed(tables, wishes.table);
  const candidates = asked
    .map((table) => ({ table, ...likeness(table, tables) }))
    .toSorted((a, b) => b.rank - a.rank || (titleOf(a.table) < titleOf(b.table) ? -1 : 1));
  const fit: Proposal[] = [];
  const unfit: Unfit[] = [];
  for (const { table, reasons } of candidates) {
    const found = proposalOf(table, reasons, wishes, tables);
    if (typeof found === "string") unfit.push({ table, lacks: found });
    else fit.push(found);
  }
  return { fit, unfit };
}

/** What a table of tenants is mostly called; the earlier words are better. */
const TENANTS = [
  "tenant",
  "customer",
  "organization",
  "organisation",
  "org",
  "company",
  "account",
  "workspace",
  "client",
  "merchant",
  "business",
  "subscriber",
  "team",
];
/** Words that say nothing about what a table has. */
const FILLERS: ReadonlySet<string> = new Set(["active", "all", "current", "table", "tbl", "v", "view", "vw"]);

/** More than the references to any table. */
const BY_NAME = 10_000;
/** More references don't make it more likely that the rows are tenants. */
const MOST_REFERENCES = 5;

/** How much a table is like one of tenants, by its name and by the tables that refer to it, and why. */
function likeness(
  table: CatalogTable,
  tables: readonly CatalogTable[],
): { readonly rank: number; readonly reasons: readonly string[] } {
  // The last word says what a row is: customer_orders has orders.
  const head = wordsOf(table.name).findLast((word) => !FILLERS.has(word)) ?? "";
  const place = TENANTS.indexOf(head);
  const referring = tables.filter(
    (other) =>
      other !== table &&
      other.isOurs &&
      other.links.some(({ toSchema, toTable }) => toSchema === table.schema && toTable === table.name),
  ).length;
  const reasons = [
    ...(place === -1 ? [] : ["sounds like tenants"]),
    ...(referring > 0 ? [`is referred to by ${quantity(referring, "other table")}`] : []),
  ];
  return {
    rank:
      (place === -1 ? 0 : BY_NAME - place) +
      2 * Math.min(referring, MOST_REFERENCES) -
      // Of a table and a view of the same rows, rather the table: it has keys.
      (table.kind === "view" ? 1 : 0),
    reasons: reasons.length > 0 ? reasons : ["has what a group needs"],
  };
}

/** The proposal, or what the table lacks. */
function proposalOf(
  table: CatalogTable,
  reasons: readonly string[],
  wishes: Wishes,
  tables: readonly CatalogTable[],
): Proposal | string {
  if (!table.isReadable) return "this user may not read it";
  if (!isVisible(titleOf(table))) return "its name has characters that nobody sees";
  const wished = [wishes.id, wishes.name, ...(wishes.properties ?? [])];
  const missing = [...wished, ...(wishes.mapping ?? []).map(({ column }) => column)].find(
    (name) => name !== undefined && !hasColumn(table, name),
  );
  if (missing !== undefined) return `it has no column ${missing}`;

  const ids = idChoices(table);
  const [id = ids[0]] = chosen(table, wishes.id, ids);
  const names = nameChoices(table, id?.column.name, wishes.anyName);
  const [name = names[0]] = chosen(table, wishes.name, names);
  if (!id || !name) {
    const lacks = [...(id ? [] : ["no unique id"]), ...(name ? [] : ["no column that could be a name"])];
    return `it has ${lacks.join(" and ")}`;
  }
  const keys = [id.column.name, name.column.name];
  const mappings = mappingChoices(table, keys);
  const mapping =
    wishes.mapping?.flatMap(({ schemaId, column }) =>
      chosen(table, column, mappings).map((choice) => ({ ...choice, schemaId })),
    ) ?? mappings.slice(0, 1).map((choice) => ({ ...choice, schemaId: null }));
  const removed = removals(table);
  const change = changeChoices(table)[0] ?? null;
  const taken = [...mapping, ...removed, ...(change ? [change] : [])].map(({ column }) => column.name);
  return {
    table,
    reasons,
    id,
    name,
    mapping,
    mappingBeside: mapping.length > 0 ? null : mappingBeside(table, id.column.name, tables),
    properties: propertiesOf(table, [...keys, ...taken], wishes.properties),
    removals: removed,
    change,
  };
}

const hasColumn = (table: CatalogTable, name: string): boolean =>
  canBeRule(name) && table.columns.some((column) => column.name === name);

/** The column that was wished; none if there was no wish. Its reason is that of the proposal, if it is among the choices. */
const chosen = (
  table: CatalogTable,
  name: string | undefined,
  choices: readonly Choice[],
): readonly Choice[] =>
  table.columns
    .filter((column) => column.name === name)
    .map((column) => choices.find((choice) => choice.column === column) ?? { column, reason: "was chosen" });

function propertiesOf(
  table: CatalogTable,
  taken: readonly string[],
  wished: readonly string[] | undefined,
): PropertyChoices {
  const choices = propertyChoices(table, taken);
  if (wished === undefined) return choices;
  const all = [...choices.proposed, ...choices.others];
  return {
    proposed: [...new Set(wished)].flatMap((name) => chosen(table, name, all)),
    others: all.filter(({ column }) => !wished.includes(column.name)),
  };
}

/** The first of this user's tables that refers to the tenant and has a column that sounds like its data source. */
function mappingBeside(
  { schema, name }: CatalogTable,
  id: string,
  tables: readonly CatalogTable[],
): MappingBeside | null {
  for (const table of tables) {
    if (!table.isOurs || !table.isReadable || !isVisible(titleOf(table))) continue;
    const link = table.links.find(
      ({ toSchema, toTable, toColumn }) => toSchema === schema && toTable === name && toColumn === id,
    );
    const [best] = link ? mappingChoices(table, [link.column]) : [];
    if (link && best && isVisible(link.column)) return { table, link: link.column, column: best.column.name };
  }
  return null;
}
