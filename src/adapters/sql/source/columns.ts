import { MissingColumns } from "../../../core/failure/sync-error.ts";
import type { Identifiers } from "../connection/identifiers.ts";
import type { SourceFailures } from "./source-checks.ts";
import type { SourceRequest } from "./source-request.ts";
import { whereAll } from "./tenant-query.ts";

/** The columns of a read, as the server describes them. */
interface ReadColumns<Field> {
  /** In the order of the request. */
  readonly fields: readonly Field[];
  /** The SELECT that has them, and reads no row. */
  readonly select: string;
}

/**
 * Looks columns up without reading a row. `there` has the names of the table's columns, from the catalog, so that the user
 * needs no right to others than those of the request. Undefined for a query, which has the columns that its author wants.
 * Throws CONFIG_COLUMNS if one of the columns isn't there.
 */
export async function readColumns<Field extends { readonly name: string }>(
  session: { fields(sql: string): Promise<Field[]> },
  { failures, quoteName }: { readonly failures: SourceFailures } & Pick<Identifiers, "quoteName">,
  { name, relation, where, columns }: Pick<SourceRequest, "name" | "relation" | "where" | "columns">,
  there: readonly string[] | undefined,
): Promise<ReadColumns<Field>> {
  const listed = there ? columns.map(quoteName).join(", ") : "*";
  const select = `SELECT ${listed} FROM ${relation} ${whereAll(where === undefined ? [] : [where])} LIMIT 0`;
  const isThere = (column: string): boolean => there === undefined || there.includes(column);
  const found = await session.fields(select).catch((error: unknown) => {
    // MySQL's catalog hides tables and columns from users without rights to them. Then the server's own error says so.
    if (columns.every(isThere) || !failures.isSqlMistake(error)) throw error;
    return [];
  });
  const fields = columns.flatMap((column) =>
    isThere(column) ? (found.find((field) => field.name === column) ?? []) : [],
  );
  if (fields.length === columns.length) return { fields, select };
  const names = there ?? found.map((field) => field.name);
  throw new MissingColumns(
    name,
    columns.filter((column) => !names.includes(column)),
    names,
  );
}
