import { printable } from "../text/printable.ts";
import { quantity } from "../text/quantity.ts";
import { type CatalogColumn, type CatalogTable, type ColumnKind, titleOf } from "./catalog.ts";

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
  /** A column whose values may say which tenants are gone. Only the operator knows the values. */
  readonly status: CatalogColumn | null;
  /** Where the data source seems to be if no column of the table is in the mapping. */
  readonly joined: Joined | null;
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
    .map((table) => ({ table, ...likeness(table, tables), joins: joins(table, tables) }))
    .toSorted((a, b) => b.rank - a.rank || (titleOf(a.table) < titleOf(b.table) ? -1 : 1));
  const fit: Proposal[] = [];
  const unfit: Unfit[] = [];
  for (const { table, reason, joins } of candidates) {
    const found = refusal(table, wishes.table, candidates.length) ?? proposalOf(table, reason, wishes, joins);
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
function proposalOf(
  table: CatalogTable,
  reason: string,
  wishes: Wishes,
  joins: readonly Joined[],
): Proposal | string {
  if (!table.isReadable) return "this user may not read it";
  const wished = [wishes.id, wishes.name, ...(wishes.properties ?? [])];
  const missing = [...wished, ...(wishes.mapping ?? []).map(({ column }) => column)].find(
    (name) => name !== undefined && !hasColumn(table, name),
  );
  if (missing !== undefined) {
    const child = wished.includes(missing)
      ? undefined
      : joins.find(({ dataSource }) => dataSource.name === missing);
    const instead = `, and ${child?.table.name} refers to it and has one: leave --mapping out, and init writes a query for it`;
    return `it has no column ${missing}${child ? instead : ""}`;
  }

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
    status: table.columns.find((column) => isStatus(column, table)) ?? null,
    joined:
      mapping.length > 0 ? null : (joins.find(({ key }) => key.refersTo?.column === id.column.name) ?? null),
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

/** A column for one purpose, and why it was chosen. The reason is a clause without a subject, such as `is unique`. */
export interface Choice {
  readonly column: CatalogColumn;
  readonly reason: string;
}

/** The words of a name in small letters: `CustomerID` and `customer_id` are `customer id`. */
const wordsOf = (name: string): string =>
  name
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll}{2})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .join(" ");

/** Where the best words of a list are that the name has; the earlier ones are better. -1 if it has none. */
const placeIn = (name: string, list: readonly string[]): number =>
  list.findIndex((words) => new RegExp(`(^| )${words.replace(" ", " ?")}s?( |$)`).test(wordsOf(name)));

/** Whether the name is this word, or says it of what the table has, such as `customer id` in a table of customers. */
function isOwn(word: string, name: string, table: CatalogTable): boolean {
  const words = wordsOf(name);
  if (words === word) return true;
  return words.endsWith(` ${word}`) && wordsOf(table.name).includes(words.slice(0, -word.length - 1));
}

/** Puts the best choices first, those with the lowest rank, and leaves the others in the order of the columns. */
const ranked = (choices: readonly (Choice & { readonly rank: number })[]): readonly Choice[] =>
  choices.toSorted((a, b) => a.rank - b.rank).map(({ column, reason }) => ({ column, reason }));

const ID_KINDS: ReadonlySet<ColumnKind> = new Set(["text", "integer", "uuid"]);

/** The columns that can be `group.id`. Of a view the catalog knows no keys, so there the names have to do. */
function idChoices(table: CatalogTable): readonly Choice[] {
  const choices = table.columns.flatMap((column) => {
    const { name, kind, key, isNullable } = column;
    if (!ID_KINDS.has(kind) || isSecret(name)) return [];
    const rank = isOwn("id", name, table) ? 0 : /(^| )(id|uuid)$/.test(wordsOf(name)) ? 1 : 2;
    if (table.kind === "view") {
      const reason = "sounds like an id; of a view nobody knows whether its ids are unique";
      return rank < 2 ? [{ column, reason, rank }] : [];
    }
    if (key === "primary") return [{ column, reason: "is the primary key", rank: -1 }];
    return key === "unique" && !isNullable ? [{ column, reason: "is unique and never null", rank }] : [];
  });
  return ranked(choices);
}

/** What a tenant's name is mostly called, beside `name` and `customer_name` in a table of customers. */
const NAMES = ["company name", "display name", "legal name", "name", "title", "label", "company", "slug"];
/** Names of something else than the tenant. */
const OTHER_NAMES =
  /(^| )(user|file|first|last|sur|nick|host) ?name$|^(contact|owner|admin|bank|city|country|region|plan|domain|database|schema|db) /;

function nameChoices(table: CatalogTable, id: string | undefined): readonly Choice[] {
  const choices = table.columns.flatMap((column) => {
    const { name, kind, isNullable } = column;
    if (kind !== "text" || name === id || isSecret(name) || OTHER_NAMES.test(wordsOf(name))) return [];
    const place = placeIn(name, NAMES);
    if (place === -1) return [];
    const reason = isNullable
      ? "sounds like the tenant's name; rows in which it is null or blank are rejected"
      : "sounds like the tenant's name, and is never null";
    return [{ column, reason, rank: isOwn("name", name, table) ? -1 : place }];
  });
  return ranked(choices);
}

const DATA_SOURCES = ["data source", "warehouse", "dwh", "data set", "database", "db", "connection"];
/** Names of what belongs to a database, and is no id of it. */
const NO_DATA_SOURCE = /(^| )(host|port|user|username)$/;

/** The columns whose values can be ids of data sources, for `group.mapping`. */
function mappingChoices(table: CatalogTable, taken: readonly string[]): readonly Choice[] {
  const choices = table.columns.flatMap((column) => {
    const { name, kind, isNullable } = column;
    if (!ID_KINDS.has(kind) || taken.includes(name)) return [];
    if (isSecret(name) || NO_DATA_SOURCE.test(wordsOf(name))) return [];
    const place = placeIn(name, DATA_SOURCES);
    if (place === -1) return [];
    const reason = isNullable
      ? "sounds like the tenant's data source; rows in which it is null or empty are rejected"
      : "sounds like the tenant's data source";
    return [{ column, reason, rank: place }];
  });
  return ranked(choices);
}

/** A column of another table that refers to the tenants, such as `workspaces.warehouse`. */
export interface Joined {
  readonly table: CatalogTable;
  /** The column of that table that refers to the tenant. */
  readonly key: CatalogColumn;
  readonly dataSource: CatalogColumn;
}

/** The data sources in tables that refer to the tenants. A name that both tables have can't stand in one query. */
const joins = (tenants: CatalogTable, tables: readonly CatalogTable[]): readonly Joined[] =>
  tables
    .filter((table) => table !== tenants && table.isOurs && table.isReadable)
    .flatMap((table) => {
      const key = table.columns.find(
        ({ refersTo }) => refersTo?.schema === tenants.schema && refersTo.table === tenants.name,
      );
      const dataSource = mappingChoices(table, []).find(
        ({ column }) => column !== key && !hasColumn(tenants, column.name),
      );
      return key && dataSource ? [{ table, key, dataSource: dataSource.column }] : [];
    });

/** A column that says which tenants are gone. */
export interface Removal {
  readonly column: CatalogColumn;
  /** `dated`: the column is null while the tenant is there. `flag`: it is true once the tenant is gone. */
  readonly form: "dated" | "flag";
}

const GONE =
  "(deleted|removed|archived|discarded|closed|deactivated|canceled|cancelled|churned|terminated|offboarded)";
const GONE_SINCE = new RegExp(`^${GONE} (at|on|date|time|timestamp)$`);
const IS_GONE = new RegExp(`^(is )?${GONE}$`);

/** All such columns: a tenant is gone if one of them says so. */
const removals = (table: CatalogTable): readonly Removal[] =>
  table.columns.flatMap((column): Removal[] => {
    const words = wordsOf(column.name);
    const isTime = column.kind === "timestamp" || column.kind === "date";
    if (isTime && column.isNullable && GONE_SINCE.test(words)) return [{ column, form: "dated" }];
    return column.kind === "boolean" && IS_GONE.test(words) ? [{ column, form: "flag" }] : [];
  });

/** An enum is of kind `other`. */
const isStatus = ({ name, kind }: CatalogColumn, table: CatalogTable): boolean =>
  (kind === "text" || kind === "other") &&
  (isOwn("status", name, table) ||
    /^(account|subscription|lifecycle) (status|state|stage)$/.test(wordsOf(name)));

const CHANGED =
  /^(row )?(last )?(updated|modified|changed|update|modification|change)( at| on| time| date| timestamp)?$/;

/** The columns that can be `source.changes.column`. A name doesn't prove that each update moves the column. */
const changeChoices = (table: CatalogTable): readonly Choice[] =>
  ranked(
    table.columns
      .filter(({ name, kind }) => kind === "timestamp" && CHANGED.test(wordsOf(name)))
      .map((column) => ({
        column,
        reason: "sounds like the time of a change: each insert and update has to move it",
        rank: column.isNullable ? 1 : 0,
      })),
  );

/** Also inside a word, such as `dbpassword`. */
const SECRET_ANYWHERE = /password|passwd|passphrase|secret|token|credential/;
const SECRET =
  /(^| )(pass|pwd|pw|hash|salt|signature|otp|pin|dsn|jdbc|webhook|(api|access|private|encryption|signing|license|ssh) ?key)s?( |$)/;

const isSecret = (name: string): boolean =>
  SECRET_ANYWHERE.test(wordsOf(name)) || SECRET.test(wordsOf(name)) || isDatabaseAddress(name);

/** The address of a database mostly holds the password. */
const isDatabaseAddress = (name: string): boolean =>
  /(^| )(url|uri|string)$/.test(wordsOf(name)) && placeIn(name, DATA_SOURCES) !== -1;

/** Whether whoever reads the config and the statements sees the whole name. MySQL can't write a name with escapes. */
const isVisible = (name: string): boolean => printable(name, Number.POSITIVE_INFINITY) === name;

/** Whether a rule of the config can name the column: blanks at the ends get lost, and braces are a template's. */
export const canBeRule = (name: string): boolean =>
  name.trim() === name && !/\{\{|\}\}/.test(name) && isVisible(name);
