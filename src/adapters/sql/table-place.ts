import type { Queryable } from "./connections.ts";
import type { Names, TableName } from "./names.ts";

/** A table by the names that the database itself has for it, however the config spells them. */
export interface TablePlace {
  /** MySQL's schemas are its databases. */
  readonly schema: string;
  readonly table: string;
  /** The role that owns it. Null where it isn't there yet, and on MySQL, whose tables have no owners. */
  readonly owner: string | null;
  /** Whether that is this user. */
  readonly isOurs: boolean;
}

/** How one kind of database finds a table, by the user's default schema or path where its name leaves the schema out. */
export interface TablePlaces {
  /**
   * Where the table is, or would be made. Undefined where it isn't there, and nobody can say in which schema it would be
   * made. Asked once for each table: whatever appears in a schema later, statements go on to the same one.
   */
  tablePlace(byRolesPath: Queryable, name: TableName): Promise<TablePlace | undefined>;
}

/** The place, quoted, or the table as the config writes it where nobody can say its place. */
export const quotedTable = (
  names: Names,
  { place, table }: { readonly place: TablePlace | undefined; readonly table: string },
): string => (place ? quotePlace(names, place) : names.quoteTable(table));

export const quotePlace = (
  { quoteName }: Pick<Names, "quoteName">,
  { schema, table }: Pick<TablePlace, "schema" | "table">,
): string => `${quoteName(schema)}.${quoteName(table)}`;

/** Asks until there is an answer that tells, and then no more. Several who ask at once wait for one answer. */
export function once<T>(ask: () => Promise<T>, tells: (answer: T) => boolean): () => Promise<T> {
  let asked: Promise<T> | undefined;
  const askNow = async (): Promise<T> => {
    try {
      const answer = await ask();
      if (!tells(answer)) asked = undefined;
      return answer;
    } catch (error) {
      asked = undefined;
      throw error;
    }
  };
  return () => {
    asked ??= askNow();
    return asked;
  };
}
