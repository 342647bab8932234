import { quantity } from "../text/quantity.ts";
import { type CatalogTable, titleOf } from "./catalog.ts";
import {
  type Choice,
  canBeRule,
  changeChoices,
  idChoices,
  isVisible,
  mappingChoices,
  nameChoices,
  type Removal,
  removals,
  wordsOf,
} from "./columns.ts";

/** A table that may have the tenants, and what becomes of its columns. */
export interface Proposal {
  readonly table: CatalogTable;
  /** Why this table; a clause without a subject. */
  readonly reason: string;
  readonly id: Choice;
  readonly name: Choice;
  /** Schema id to column. A null in place of the schema id: only the operator knows it. */
  readonly mapping: readonly (Choice & { readonly schemaId: string | null })[];
  readonly properties: readonly Choice[];
  readonly removals: readonly Removal[];
  readonly change: Choice | null;
}

/** What the operator has chosen. What is left out is proposed, but for properties. */
export interface Wishes {
  /** `name` or `schema.name`. */
  readonly table?: string | undefined;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
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

/** How tenants become groups, by each table of the catalog, or by those that the operator's name may mean. */
export function proposals(catalogTables: readonly CatalogTable[], wishes: Wishes = {}): Proposals {
  const tables = usable(catalogTables);
  const candidates = tablesNamed(tables, wishes.table)
    .map((table) => ({ table, ...likeness(table, tables) }))
    .toSorted((a, b) => b.rank - a.rank || (titleOf(a.table) < titleOf(b.table) ? -1 : 1));
  const fit: Proposal[] = [];
  const unfit: Unfit[] = [];
  for (const { table, reason } of candidates) {
    const found = refusal(table, wishes.table, candidates.length) ?? proposalOf(table, reason, wishes);
    if (typeof found === "string") unfit.push({ table, lacks: found });
    else fit.push(found);
  }
  return { fit, unfit };
}

/**
 * What the config and the statements can name so that their reader sees the whole name. All else is as good as not there.
 */
const usable = (tables: readonly CatalogTable[]): readonly CatalogTable[] =>
  tables
    .filter((table) => isVisible(titleOf(table)))
    .map((table) => ({ ...table, columns: table.columns.filter(({ name }) => canBeRule(name)) }));

/** The table that the text names with its schema, or else the tables of this name in all schemas. */
function tablesNamed(tables: readonly CatalogTable[], text: string | undefined): readonly CatalogTable[] {
  if (text === undefined) return tables;
  const exact = tables.filter((table) => titleOf(table) === text);
  return exact.length > 0 ? exact : tables.filter(({ name }) => name === text);
}

/**
 * Why the operator has to name the table with its schema. Whoever has made another owner's table may have made it to be
 * taken for this one, and to read a table may run its owner's functions.
 */
function refusal(table: CatalogTable, asked: string | undefined, candidates: number): string | undefined {
  if (asked === titleOf(table)) return undefined;
  if (asked !== undefined && candidates > 1) return "several tables have this name: name one with its schema";
  return table.isOurs
    ? undefined
    : "it is another owner's, whose functions may run when it is read; if you trust the owner, name it with its schema";
}

/** What a table of tenants is mostly called; the earlier words are better. */
const TENANTS = [
  "tenant",
  "customer",
  "organi[sz]ation",
  "org",
  "compan(y|ie)",
  "account",
  "workspace",
  "client",
  "merchant",
  "business(e)?",
  "subscriber",
  "team",
];
/** Words that say nothing about what a table has. */
const FILLERS = "( (active|all|current|table|tbl|v|view|vw))*";

/** More than the references to any table. */
const BY_NAME = 10_000;
/** More references don't make it more likely that the rows are tenants. */
const MOST_REFERENCES = 5;

/** How much a table is like one of tenants, by its name and by the tables that refer to it, and why. */
function likeness(
  table: CatalogTable,
  tables: readonly CatalogTable[],
): { readonly rank: number; readonly reason: string } {
  // The last word says what a row is: customer_orders has orders.
  const words = wordsOf(table.name);
  const place = TENANTS.findIndex((word) => new RegExp(`(^| )${word}s?${FILLERS}$`).test(words));
  const referring = tables.filter(
    (other) =>
      other !== table &&
      other.isOurs &&
      other.columns.some(
        ({ refersTo }) => refersTo?.schema === table.schema && refersTo.table === table.name,
      ),
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
    reason: reasons.join(", and ") || "has what a group needs",
  };
}

/** The proposal, or what the table lacks. */
function proposalOf(table: CatalogTable, reason: string, wishes: Wishes): Proposal | string {
  if (!table.isReadable) return "this user may not read it";
  const wished = [wishes.id, wishes.name, ...(wishes.properties ?? [])];
  const missing = [...wished, ...(wishes.mapping ?? []).map(({ column }) => column)].find(
    (name) => name !== undefined && !hasColumn(table, name),
  );
  if (missing !== undefined) return `it has no column ${missing}`;

  const ids = idChoices(table);
  const [id = ids[0]] = chosen(table, wishes.id, ids);
  const names = nameChoices(table, id?.column.name);
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
  return {
    table,
    reason,
    id,
    name,
    mapping,
    properties: [...new Set(wishes.properties)].flatMap((wish) => chosen(table, wish, [])),
    removals: removals(table),
    change: changeChoices(table)[0] ?? null,
  };
}

const hasColumn = (table: CatalogTable, name: string): boolean =>
  table.columns.some((column) => column.name === name);

/** The column that was wished; none if there was no wish. Its reason is that of the proposal, if it is among the choices. */
const chosen = (
  table: CatalogTable,
  name: string | undefined,
  choices: readonly Choice[],
): readonly Choice[] =>
  table.columns
    .filter((column) => column.name === name)
    .map((column) => choices.find((choice) => choice.column === column) ?? { column, reason: "was chosen" });
