import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Identifiers } from "../connection/identifiers.ts";
import type { CatalogColumn, SourceDialect, SourceRequest, SourceSession } from "./source-dialect.ts";
import { whereTrying } from "./tenant-query.ts";

/**
 * Looks the request's columns up without reading a row. The catalog tells a table's columns, so that the user needs no right to
 * others than those of the request; a query has the columns that its author wants. Resolves to the fields in the order of the
 * request, and to the SELECT that has them and reads no row. Throws CONFIG_COLUMNS if one of the columns isn't there, and
 * SOURCE_UNAVAILABLE with the GRANT if the user may not read them. The driver's error says what is wrong in the config's
 * conditions, which the SELECT tries.
 */
export async function readColumns(
  { failures, identifiers, catalogColumns }: SourceDialect,
  session: SourceSession,
  request: SourceRequest,
) {
  const { name, relation, columns, place } = request;
  const { quoteName } = identifiers;
  const catalog = place && (await catalogColumns(session, place));
  const listed = catalog ? columns.map(quoteName).join(", ") : "*";
  const select = `SELECT ${listed} FROM ${relation} ${whereTrying(request)} LIMIT 0`;
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
  const missing = columns.filter((column) => !names.includes(column));
  throw new SyncError("CONFIG_COLUMNS", `${name} has no column ${missing.join(", ")}`, {
    hint: `its columns, as the config has to write them: ${names.join(", ")}`,
  });
}

/**
 * The error if the user may not read all of these columns, with the GRANT. Undefined if the user may: then something else
 * than the table lacks a right. Asks the catalog alone, because a view or a function can make the server's error say
 * anything.
 */
function unreadable(
  { name, relation, columns, grantee }: SourceRequest,
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

export const wrongIdType = (column: string, type: string): SyncError =>
  new SyncError("CONFIG_COLUMNS", `group.id: column ${column} is of type ${type}`, {
    hint: "an id is a text, integer or uuid column; a query can cast another type to text",
  });
