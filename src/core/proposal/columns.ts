import { printable } from "../text/printable.ts";
import type { CatalogColumn, CatalogTable, ColumnKind } from "./catalog.ts";

/** A column for one purpose, and why it was chosen. The reason is a clause without a subject, such as `is unique`. */
export interface Choice {
  readonly column: CatalogColumn;
  readonly reason: string;
}

/**
 * The words of a name in small letters, each in the singular: `CustomerIDs`, `customer_ids` and `Customer ids` are
 * `customer id`.
 */
export const wordsOf = (name: string): readonly string[] =>
  name
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll}{2})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .map(singular);

/** Enough for the words that matter here. `address`, `status` and `is` are no plurals. */
function singular(word: string): string {
  if (word.length < 3 || /(ss|us|is)$/.test(word)) return word;
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(s|x|ch)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith("s") ? word.slice(0, -1) : word;
}

const textOf = (name: string): string => wordsOf(name).join(" ");

/** Whether these words stand in the name one behind the other, also if they are written as one word. */
const hasWords = (name: string, words: string): boolean => {
  const text = ` ${textOf(name)} `;
  return text.includes(` ${words} `) || text.includes(` ${words.replaceAll(" ", "")} `);
};

const hasAny = (name: string, all: readonly string[]): boolean => all.some((words) => hasWords(name, words));

/** Where the best words of a list are that the name has; the earlier ones are better. -1 if it has none. */
const placeIn = (name: string, list: readonly string[]): number =>
  list.findIndex((words) => hasWords(name, words));

/** Puts the best choices first, those with the lowest rank, and leaves the others in the order of the columns. */
const ranked = (choices: readonly (Choice & { readonly rank: number })[]): readonly Choice[] =>
  choices.toSorted((a, b) => a.rank - b.rank).map(({ column, reason }) => ({ column, reason }));

const ID_KINDS: ReadonlySet<ColumnKind> = new Set(["text", "integer", "uuid"]);

/** The columns that can be `group.id`. Of a view the catalog knows no keys, so there the names have to do. */
export function idChoices(table: CatalogTable): readonly Choice[] {
  const own = wordsOf(table.name).at(-1) ?? "";
  const choices = table.columns.flatMap((column) => {
    if (!canBeRule(column.name) || !ID_KINDS.has(column.kind) || isSecret(column.name)) return [];
    const words = textOf(column.name);
    const byName = words === "id" || words === `${own} id` ? 0 : /(^| )(id|uuid)$/.test(words) ? 1 : 2;
    if (table.kind === "view") {
      const reason = "sounds like an id; of a view nobody knows whether its ids are unique";
      return byName < 2 ? [{ column, reason, rank: byName }] : [];
    }
    if (column.key === "primary") return [{ column, reason: "is the primary key", rank: -1 }];
    if (column.key === null || column.isNullable) return [];
    return [{ column, reason: "is unique and never null", rank: byName }];
  });
  return ranked(choices);
}

/** What a tenant's name is mostly called, beside `name` and `customer_name` in a table of customers. */
const NAMES = ["company name", "display name", "legal name", "name", "title", "label", "company", "slug"];
/** Names of something else than the tenant. */
const OTHER_NAMES =
  /(^| )(user|file|first|last|sur|nick|host) ?name$|^(contact|owner|admin|bank|city|country|region|plan|domain|database|schema|db) /;

/** The columns that can be `group.name`. With `anyText`, also those that don't sound like one, behind the others. */
export function nameChoices(table: CatalogTable, id: string | undefined, anyText = false): readonly Choice[] {
  const own = wordsOf(table.name).at(-1) ?? "";
  const choices = table.columns.flatMap((column) => {
    const { name, kind, isNullable } = column;
    if (kind !== "text" || name === id || !canBeRule(name) || isSecret(name)) return [];
    const words = textOf(name);
    const place = OTHER_NAMES.test(words) ? -1 : placeIn(name, NAMES);
    if (place === -1) return anyText ? [{ column, reason: "is text", rank: NAMES.length }] : [];
    const reason = isNullable
      ? "sounds like the tenant's name; rows in which it is null or blank are rejected"
      : "sounds like the tenant's name, and is never null";
    return [{ column, reason, rank: words === "name" || words === `${own} name` ? -1 : place }];
  });
  return ranked(choices);
}

const DATA_SOURCES = ["data source", "warehouse", "dwh", "data set", "database", "db", "connection"];
/** Names of what belongs to a database, and is no id of it. */
const NO_DATA_SOURCE = /(^| )(host|port|user|username)$/;

/**
 * The columns whose values can be ids of data sources, for `group.mapping`. With `any`, also those that don't sound like
 * it, behind the others.
 */
export function mappingChoices(
  table: CatalogTable,
  taken: readonly string[],
  any = false,
): readonly Choice[] {
  const choices = table.columns.flatMap((column) => {
    const { name, kind, isNullable } = column;
    if (!ID_KINDS.has(kind) || taken.includes(name) || !canBeRule(name)) return [];
    if (isSecret(name) || NO_DATA_SOURCE.test(textOf(name))) return [];
    const place = placeIn(name, DATA_SOURCES);
    if (place === -1)
      return any && !isPersonal(name) ? [{ column, reason: "could be one", rank: DATA_SOURCES.length }] : [];
    const reason = isNullable
      ? "sounds like the tenant's data source; rows in which it is null or empty are rejected"
      : "sounds like the tenant's data source";
    return [{ column, reason, rank: place }];
  });
  return ranked(choices);
}

const PROPERTY_KINDS: ReadonlySet<ColumnKind> = new Set([
  "text",
  "integer",
  "uuid",
  "number",
  "boolean",
  "choice",
  "date",
]);
/** What dashboards mostly use. */
const PROPERTIES = [
  "plan",
  "tier",
  "edition",
  "region",
  "country",
  "currency",
  "locale",
  "language",
  "time zone",
  "industry",
  "segment",
  "seat",
];

/** What the dashboards may get of the other columns, without what looks like a secret or personal data. */
export interface PropertyChoices {
  /** Columns that dashboards mostly use. */
  readonly proposed: readonly Choice[];
  /** Columns that could be sent, too. */
  readonly others: readonly Choice[];
}

export function propertyChoices(table: CatalogTable, taken: readonly string[]): PropertyChoices {
  const sendable = table.columns.filter(
    ({ name, kind }) =>
      PROPERTY_KINDS.has(kind) &&
      !taken.includes(name) &&
      canBeRule(name) &&
      !isSecret(name) &&
      !isPersonal(name),
  );
  const isUsual = ({ name }: CatalogColumn): boolean => hasAny(name, PROPERTIES);
  return {
    proposed: sendable.filter(isUsual).map((column) => ({ column, reason: "is of use in dashboards" })),
    others: sendable
      .filter((column) => !isUsual(column))
      .map((column) => ({ column, reason: "could be sent" })),
  };
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
    if (!isVisible(column.name)) return [];
    const words = textOf(column.name);
    const isTime = column.kind === "timestamp" || column.kind === "date";
    if (isTime && column.isNullable && GONE_SINCE.test(words)) return [{ column, form: "dated" }];
    return column.kind === "boolean" && IS_GONE.test(words) ? [{ column, form: "flag" }] : [];
  });

const CHANGED =
  /^(row )?(last )?(updated|modified|changed|update|modification|change)( at| on| time| date| timestamp)?$/;

/** The columns that can be `source.changes.column`. A name alone doesn't prove that each update moves the column. */
export const changeChoices = (table: CatalogTable): readonly Choice[] =>
  ranked(
    table.columns.flatMap((column) => {
      if (column.kind !== "timestamp" || !canBeRule(column.name)) return [];
      if (column.movesItself) return [{ column, reason: "gets the present time with each update", rank: 0 }];
      const reason = "sounds like the time of a change: each insert and update has to move it";
      return CHANGED.test(textOf(column.name)) ? [{ column, reason, rank: column.isNullable ? 2 : 1 }] : [];
    }),
  );

/** Also inside a word, such as `dbpassword`. */
const SECRET_ANYWHERE = /password|passwd|passphrase|secret|token|credential/;
const SECRETS = [
  "pass",
  "pwd",
  "pw",
  "hash",
  "salt",
  "api key",
  "access key",
  "private key",
  "encryption key",
  "signing key",
  "license key",
  "ssh key",
  "signature",
  "otp",
  "pin",
  "dsn",
  "jdbc",
  "webhook",
];

const isSecret = (name: string): boolean =>
  SECRET_ANYWHERE.test(textOf(name)) || hasAny(name, SECRETS) || isDatabaseAddress(name);

/** The address of a database mostly holds the password. */
const isDatabaseAddress = (name: string): boolean =>
  /(^| )(url|uri|string)$/.test(textOf(name)) && hasAny(name, DATA_SOURCES);

const PERSONAL = [
  "email",
  "mail",
  "phone",
  "mobile",
  "fax",
  "address",
  "street",
  "birth",
  "birthday",
  "iban",
  "bic",
  "vat",
  "tax",
  "ssn",
  "card",
  "bank",
  "contact",
  "note",
  "comment",
  "first name",
  "last name",
  "ip",
];
const isPersonal = (name: string): boolean => hasAny(name, PERSONAL);

/** Whether whoever reads the config and the statements sees the whole name. MySQL can't write a name with escapes. */
export const isVisible = (name: string): boolean => printable(name, Number.POSITIVE_INFINITY) === name;

/** Whether a rule of the config can name the column: blanks at the ends get lost, and braces are a template's. */
export const canBeRule = (name: string): boolean =>
  name.trim() === name && !/\{\{|\}\}/.test(name) && isVisible(name);
