import { MissingColumns, SyncError } from "../../../core/failure/sync-error.ts";
import type { Identifiers } from "../connection/identifiers.ts";
import type { SourceFailures } from "./open-reader.ts";
import type { SourceRequest } from "./source-request.ts";
import { whereAll } from "./tenant-query.ts";

/** The columns of a read, as the server describes them. */
interface ReadColumns<Field> {
  /** In the order of the request. */
  readonly fields: readonly Field[];
  /** The SELECT that has them, and reads no row. */
  readonly select: string;
}

/** A column of the source's table, as the catalog has it. */
export interface CatalogColumn {
  readonly name: string;
  /** Whether the user has the right to read it. */
  readonly isReadable: boolean;
}

/**
 * Looks columns up without reading a row. `catalog` has the table's columns, so that the user needs no right to others than
 * those of the request. Undefined for a query, which has the columns that its author wants. Throws CONFIG_COLUMNS if one of
 * the columns isn't there, and SOURCE_UNAVAILABLE with the GRANT if the user may not read them.
 */
export async function readColumns<Field extends { readonly name: string }>(
  session: { fields(sql: string): Promise<Field[]> },
  { failures, quoteName }: { readonly failures: SourceFailures } & Pick<Identifiers, "quoteName">,
  request: Pick<SourceRequest, "name" | "relation" | "where" | "columns" | "grantee">,
  catalog: readonly CatalogColumn[] | undefined,
): Promise<ReadColumns<Field>> {
  const { name, relation, where, columns } = request;
  const listed = catalog ? columns.map(quoteName).join(", ") : "*";
  const select = `SELECT ${listed} FROM ${relation} ${whereAll(where === undefined ? [] : [where])} LIMIT 0`;
  const there = catalog?.map((column) => column.name);
  const isThere = (column: string): boolean => there === undefined || there.includes(column);
  const found = await session.fields(select).catch((error: unknown) => {
    if (catalog && failures.mayNotRead(error)) throw unreadable(request, quoteName, catalog) ?? error;
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

/**
 * The error if the user may not read all of these columns, with the GRANT. Undefined if the user may: then something else
 * than the table lacks a right. Asks the catalog alone, because a view or a function can make the server's error say
 * anything.
 */
function unreadable(
  { name, relation, columns, grantee }: Pick<SourceRequest, "name" | "relation" | "columns" | "grantee">,
  quoteName: Identifiers["quoteName"],
  catalog: readonly CatalogColumn[],
): SyncError | undefined {
  const denied = columns.filter(
    (wanted) => !catalog.some((column) => column.name === wanted && column.isReadable),
  );
  if (denied.length === 0) return undefined;
  const isWhole = denied.length === columns.length;
  const what = isWhole ? `table ${name}` : `column ${denied.join(", ")}`;
  const some = isWhole ? "" : ` (${denied.map(quoteName).join(", ")})`;
  const isHidden = denied.some((wanted) => !catalog.some((column) => column.name === wanted));
  const doubt = isHidden ? "; or is the name wrong? The server says the same of what isn't there" : "";
  return new SyncError("SOURCE_UNAVAILABLE", `cannot read ${name}: permission denied for ${what}`, {
    hint: `GRANT SELECT${some} ON ${relation} TO ${grantee}${doubt}`,
  });
}
