import { printable } from "../text/printable.ts";
import type { CatalogColumn, CatalogTable, ColumnKind } from "./catalog.ts";

/** A column for one purpose, and why it was chosen. The reason is a clause without a subject, such as `is unique`. */
export interface Choice {
  readonly column: CatalogColumn;
  readonly reason: string;
}

/** The words of a name in small letters: `CustomerID` and `customer_id` are `customer id`. */
export const wordsOf = (name: string): string =>
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
export function idChoices(table: CatalogTable): readonly Choice[] {
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

/** The columns that can be `group.name`. */
export function nameChoices(table: CatalogTable, id: string | undefined): readonly Choice[] {
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
export function mappingChoices(table: CatalogTable, taken: readonly string[]): readonly Choice[] {
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
export const removals = (table: CatalogTable): readonly Removal[] =>
  table.columns.flatMap((column): Removal[] => {
    const words = wordsOf(column.name);
    const isTime = column.kind === "timestamp" || column.kind === "date";
    if (isTime && column.isNullable && GONE_SINCE.test(words)) return [{ column, form: "dated" }];
    return column.kind === "boolean" && IS_GONE.test(words) ? [{ column, form: "flag" }] : [];
  });

const CHANGED =
  /^(row )?(last )?(updated|modified|changed|update|modification|change)( at| on| time| date| timestamp)?$/;

/** The columns that can be `source.changes.column`. A name doesn't prove that each update moves the column. */
export const changeChoices = (table: CatalogTable): readonly Choice[] =>
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
export const isVisible = (name: string): boolean => printable(name, Number.POSITIVE_INFINITY) === name;

/** Whether a rule of the config can name the column: blanks at the ends get lost, and braces are a template's. */
export const canBeRule = (name: string): boolean =>
  name.trim() === name && !/\{\{|\}\}/.test(name) && isVisible(name);
