import { describe, SyncError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { Patience } from "./attendance.ts";
import { databaseError, type Failures } from "./failures.ts";
import { type Names, nameOf, type TableName } from "./names.ts";
import type { SecretTable } from "./secret-tables.ts";
import { quotePlace, type TablePlace } from "./table-place.ts";

/** Where the tenants are, as the config says it. */
export interface SourceOptions {
  readonly url: Secret;
  readonly applicationName: string;
  readonly patience: Patience;
  /** Exactly one of `table` and `query`. */
  readonly table?: string | undefined;
  readonly query?: string | undefined;
  /** An SQL predicate on the table's rows. */
  readonly where?: string | undefined;
  /** An SQL predicate that is true of the rows whose tenants are gone. */
  readonly removedWhen?: string | undefined;
  /** On PostgreSQL: an error where a policy may hide rows, or the rows that it leaves. `error` where left out. */
  readonly rowSecurity?: "error" | "filter" | undefined;
  /** What the source's user had better not read, if its database has tables of these names. Nothing where left out. */
  readonly secretTables?: (() => Promise<readonly SecretTable[]>) | undefined;
}

/** What is asked of the source. */
export interface Wanted {
  /** For messages. */
  readonly name: string;
  /** What stands after FROM. */
  readonly relation: string;
  /** The query in it, if it is one. */
  readonly query?: string;
  /** Of a table. */
  readonly place?: TablePlace;
  /** A predicate on its rows. */
  readonly where?: string | undefined;
  /** Another one, true of those whose tenants are gone. */
  readonly removedWhen?: string | undefined;
  /** The id first. */
  readonly columns: readonly string[];
  readonly seed: string;
}

/** What the failures of a read are judged by. */
export interface SourceFailures extends Pick<Failures, "hintFor"> {
  /** The SQL itself is wrong, or does what a read can't. */
  isSqlMistake(error: unknown): boolean;
}

export function wantedOf(
  { table, query, where, removedWhen }: SourceOptions,
  { quoteTable }: Pick<Names, "quoteTable">,
  columns: readonly string[],
  seed: string,
): Wanted {
  const asked = { removedWhen, columns, seed };
  if (table !== undefined) return { name: table, relation: quoteTable(table), where, ...asked };
  const bare = (query ?? "").replace(/[\s;]+$/, "");
  // The line break ends a comment that the query may end with.
  return { name: "source.query", relation: `(${bare}\n) AS tenants`, query: bare, ...asked };
}

/**
 * With the table by the schema that it is in: what appears in another one while it is read changes nothing. Rejects with
 * CONFIG_TABLE_MOVED, before anything of it runs, where it isn't `before`, the one of the reads so far.
 */
export async function placed(
  wanted: Wanted,
  { table }: SourceOptions,
  names: Pick<Names, "quoteName">,
  find: (name: TableName) => Promise<TablePlace | undefined>,
  before: string | null | undefined,
): Promise<Wanted> {
  const place = table === undefined ? undefined : await find(nameOf(table));
  if (!place) return wanted;
  const found = { ...wanted, place, relation: quotePlace(names, place) };
  const now = tableOf(found);
  if (before != null && now !== null && before !== now) throw moved(before, now);
  return found;
}

/** For people: `schema.table`, or null for a query. */
export const tableOf = ({ place }: Wanted): string | null =>
  place ? `${place.schema}.${place.table}` : null;

const moved = (before: string, now: string): SyncError =>
  new SyncError(
    "CONFIG_TABLE_MOVED",
    `tenants were read from ${before}, and the same config now leads to ${now}`,
    {
      hint: "find out who made that table before anything else; nothing was read from it. Write the one that is meant in source.table, with its schema",
    },
  );

/** A WHERE clause, or nothing. The line breaks end comments that the conditions may end with. */
export const whereAll = (conditions: readonly string[]): string =>
  conditions.length === 0 ? "" : `WHERE ${conditions.map((condition) => `(${condition}\n)`).join(" AND ")}`;

export function missingColumns({ name, columns }: Wanted, there: readonly string[]): SyncError {
  const missing = columns.filter((column) => !there.includes(column));
  return new SyncError("CONFIG_COLUMNS", `${name} has no column ${missing.join(", ")}`, {
    hint: `its columns, as the group rules have to write them: ${there.join(", ")}`,
  });
}

export const wrongIdType = (column: string, type: string): SyncError =>
  new SyncError("CONFIG_COLUMNS", `group.id: column ${column} is of type ${type}`, {
    hint: "an id is a text, integer or uuid column; a query can cast another type to text",
  });

/** `ask` is told to read no row of the removed ones: on its own, so that the blame falls on the right key. */
export async function checkRemoved(
  { name }: Wanted,
  { isSqlMistake }: SourceFailures,
  ask: () => Promise<unknown>,
): Promise<void> {
  try {
    await ask();
  } catch (error) {
    if (!isSqlMistake(error)) throw error;
    throw new SyncError("CONFIG_SOURCE", `cannot tell the removed rows of ${name}: ${describe(error)}`, {
      hint: "check source.removed_when: it is a condition on these rows, in SQL of this database",
      cause: error,
    });
  }
}

/**
 * The config's SQL stands in parentheses in every statement. What makes sense there, and makes sense without them as
 * well, can't have closed them: it is one query, or one condition.
 */
export async function checkWhole(
  { query, relation, where, removedWhen }: Wanted,
  failures: SourceFailures,
  database: {
    /** Has the server look through a statement, without running it. */
    prepare(statement: string): Promise<unknown>;
    query(statement: string): Promise<unknown>;
  },
): Promise<void> {
  const whole = async (key: string, what: string, ask: () => Promise<unknown>): Promise<void> => {
    try {
      await ask();
    } catch (error) {
      if (!failures.isSqlMistake(error)) throw error;
      throw new SyncError("CONFIG_SOURCE", `${key} is not ${what} by itself: ${describe(error)}`, {
        hint: `check the parentheses of ${key}: each that it closes has to be its own`,
        cause: error,
      });
    }
  };
  const condition = (sql: string): string => `SELECT 1 FROM ${relation} WHERE ${sql}\nLIMIT 0`;
  if (query !== undefined) await whole("source.query", "one query", () => database.prepare(query));
  if (where !== undefined)
    await whole("source.where", "one condition", () => database.query(condition(where)));
  if (removedWhen !== undefined)
    await whole("source.removed_when", "one condition", () => database.query(condition(removedWhen)));
}

export function sourceError({ name }: Wanted, failures: SourceFailures, error: unknown): SyncError {
  if (!failures.isSqlMistake(error)) {
    return databaseError(failures, "SOURCE_UNAVAILABLE", `cannot read ${name}`, error);
  }
  return new SyncError("CONFIG_SOURCE", `cannot read ${name}: ${describe(error)}`, {
    hint: "check source.where, source.query and source.removed_when: they are SQL of this database",
    cause: error,
  });
}
