import { printable } from "../text/printable.ts";
import type { CatalogColumn, CatalogTable, ColumnKind } from "./catalog.ts";
import { hasWords, wordsOf } from "./words.ts";

/** A column for one purpose, and why it was chosen. The reason is a clause without a subject, such as `is unique`. */
export interface Choice {
  readonly column: CatalogColumn;
  readonly reason: string;
}

/** Each list of choices has the best one first. */
type Ranked = readonly Choice[];

const ID_KINDS: ReadonlySet<ColumnKind> = new Set(["text", "integer", "uuid"]);

/** The columns that can be `group.id`. Of a view the catalog knows no keys, so there the names have to do. */
export function idChoices(table: CatalogTable): Ranked {
  const own = wordsOf(table.name).at(-1) ?? "";
  const nameRank = (name: string): number => {
    const words = wordsOf(name).join(" ");
    if (words === "id" || words === `${own} id`) return 3;
    if (["uuid", "guid", `${own} uuid`, `${own} key`, `${own} code`].includes(words)) return 2;
    return /(^| )(id|uuid)$/.test(words) ? 1 : 0;
  };
  const choices = table.columns.flatMap((column) => {
    if (!canBeRule(column.name) || !ID_KINDS.has(column.kind) || isSecret(column.name)) return [];
    const byName = nameRank(column.name);
    if (table.kind === "view") {
      const reason = "sounds like an id; of a view nobody knows whether its ids are unique";
      return byName > 0 ? [{ column, reason, rank: byName }] : [];
    }
    if (column.key === "primary") return [{ column, reason: "is the primary key", rank: 20 }];
    if (column.key === null || column.isNullable) return [];
    return [{ column, reason: "is unique and never null", rank: 10 + byName }];
  });
  return ranked(choices);
}

const NAMES: readonly (readonly [words: string, rank: number])[] = [
  ["display name", 8],
  ["legal name", 6],
  ["company name", 9],
  ["title", 4],
  ["label", 3],
  ["company", 3],
  ["slug", 1],
];
/** Names of something else than the tenant. */
const OTHER_NAMES = [
  "user name",
  "file name",
  "first name",
  "last name",
  "sur name",
  "nick name",
  "host name",
];
const OTHERS_OWNER = /^(contact|owner|admin|bank|city|country|region|plan|domain|database|schema|db) /;

/** The columns that can be `group.name`. With `anyText`, also those that don't sound like one, behind the others. */
export function nameChoices(table: CatalogTable, id: string | undefined, anyText = false): Ranked {
  const own = wordsOf(table.name).at(-1) ?? "";
  const rankOf = (name: string): number => {
    const words = wordsOf(name).join(" ");
    if (OTHER_NAMES.some((other) => hasWords(name, other)) || OTHERS_OWNER.test(words)) return 0;
    if (words === "name" || words === `${own} name`) return 10;
    const known = NAMES.find(([known]) => hasWords(name, known))?.[1];
    return known ?? (/(^| )name$/.test(words) ? 5 : 0);
  };
  const choices = table.columns.flatMap((column) => {
    const rank = rankOf(column.name);
    if (column.kind !== "text" || column.name === id || !canBeRule(column.name)) return [];
    if (isSecret(column.name)) return [];
    if (rank === 0) return anyText ? [{ column, reason: "is text", rank }] : [];
    const reason = column.isNullable
      ? "sounds like the tenant's name; rows in which it is null or blank are rejected"
      : "sounds like the tenant's name, and is never null";
    return [{ column, reason, rank: rank + (column.isNullable ? 0 : 0.5) }];
  });
  return ranked(choices);
}

const DATA_SOURCES: readonly (readonly [words: string, rank: number])[] = [
  ["data source", 9],
  ["warehouse", 7],
  ["dwh", 7],
  ["data set", 6],
  ["database", 5],
  ["db", 4],
  ["connection", 3],
];
/** Names of what belongs to a database, and is no id of it. */
const NO_DATA_SOURCE = /(^| )(host|port|user|username)$/;

/**
 * The columns whose values can be ids of data sources, for `group.mapping`. With `any`, also those that don't sound like
 * it, behind the others.
 */
export function mappingChoices(
  table: CatalogTable,
  taken: readonly (string | undefined)[],
  any = false,
): Ranked {
  const choices = table.columns.flatMap((column) => {
    if (!ID_KINDS.has(column.kind) || taken.includes(column.name) || !canBeRule(column.name)) return [];
    if (isSecret(column.name) || NO_DATA_SOURCE.test(wordsOf(column.name).join(" "))) return [];
    const rank = DATA_SOURCES.find(([words]) => hasWords(column.name, words))?.[1] ?? 0;
    if (rank === 0) return any && !isPersonal(column.name) ? [{ column, reason: "could be one", rank }] : [];
    const reason = column.isNullable
      ? "sounds like the tenant's data source; rows in which it is null or empty are rejected"
      : "sounds like the tenant's data source";
    return [{ column, reason, rank: rank + (/ (id|ref|key)$/.test(wordsOf(column.name).join(" ")) ? 1 : 0) }];
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
const PROPERTIES = [
  "plan",
  "tier",
  "edition",
  "package",
  "region",
  "country",
  "market",
  "currency",
  "locale",
  "language",
  "time zone",
  "timezone",
  "tz",
  "industry",
  "segment",
  "seat",
];

/** What the dashboards may get of the other columns. */
export interface PropertyChoices {
  /** Columns that dashboards mostly use. */
  readonly proposed: Ranked;
  /** Columns that could be sent, too. */
  readonly others: Ranked;
  /** Columns that look like secrets or personal data: not proposed, whatever the dashboards use. */
  readonly withheld: readonly string[];
}

export function propertyChoices(table: CatalogTable, taken: readonly string[]): PropertyChoices {
  const free = table.columns.filter(({ name }) => !taken.includes(name));
  const sendable = free.filter(
    ({ name, kind }) => PROPERTY_KINDS.has(kind) && canBeRule(name) && !isSecret(name) && !isPersonal(name),
  );
  const dataSources = mappingChoices(table, taken);
  const other = (column: CatalogColumn): Choice =>
    dataSources.find((choice) => choice.column === column) ?? { column, reason: "could be sent" };
  const isUsual = ({ name }: CatalogColumn): boolean => PROPERTIES.some((words) => hasWords(name, words));
  return {
    proposed: sendable.filter(isUsual).map((column) => ({ column, reason: "is of use in dashboards" })),
    others: sendable.filter((column) => !isUsual(column)).map(other),
    withheld: free.filter(({ name }) => isSecret(name) || isPersonal(name)).map(({ name }) => name),
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
    const words = wordsOf(column.name).join(" ");
    const isTime = column.kind === "timestamp" || column.kind === "date";
    if (isTime && column.isNullable && GONE_SINCE.test(words)) return [{ column, form: "dated" }];
    return column.kind === "boolean" && IS_GONE.test(words) ? [{ column, form: "flag" }] : [];
  });

const CHANGED =
  /^(row )?(last )?(updated|modified|changed|update|modification|change)( at| on| time| date| timestamp)?$/;

/** The columns that can be `source.changes.column`. A name alone doesn't prove that each update moves the column. */
export function changeChoices(table: CatalogTable): Ranked {
  const choices = table.columns.flatMap((column) => {
    const isNamed = CHANGED.test(wordsOf(column.name).join(" "));
    if (column.kind !== "timestamp" || !canBeRule(column.name)) return [];
    if (column.movesItself)
      return [{ column, reason: "gets the present time with each update", rank: isNamed ? 9 : 8 }];
    const reason = "sounds like the time of a change: each insert and update has to move it";
    return isNamed ? [{ column, reason, rank: column.isNullable ? 1 : 2 }] : [];
  });
  return ranked(choices);
}

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
/** The address of a database mostly holds the password. */
const isDatabaseAddress = (name: string): boolean =>
  /(^| )(url|uri|string)$/.test(wordsOf(name).join(" ")) &&
  DATA_SOURCES.some(([words]) => hasWords(name, words));

const isSecret = (name: string): boolean =>
  SECRET_ANYWHERE.test(wordsOf(name).join(" ")) ||
  SECRETS.some((words) => hasWords(name, words)) ||
  isDatabaseAddress(name);

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
const isPersonal = (name: string): boolean => PERSONAL.some((words) => hasWords(name, words));

/** Whether whoever reads the config and the statements sees the whole name. MySQL can't write a name with escapes. */
export const isVisible = (name: string): boolean => printable(name, Number.POSITIVE_INFINITY) === name;

/** Whether a rule of the config can name the column: blanks at the ends get lost, and braces are a template's. */
export const canBeRule = (name: string): boolean =>
  name.trim() === name && !/\{\{|\}\}/.test(name) && isVisible(name);

function ranked(choices: readonly (Choice & { readonly rank: number })[]): Ranked {
  return choices
    .toSorted((a, b) => b.rank - a.rank)
    .map(({ column, reason }): Choice => ({ column, reason }));
}
