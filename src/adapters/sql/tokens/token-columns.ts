import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Identifiers } from "../connection/identifiers.ts";
import { quotedTable } from "../connection/table-place.ts";
import type { PlacedTokenTable } from "../dialect/token-statements.ts";

/** A column of a token table, as the catalog has it. */
export interface TokenColumn {
  /** As the config writes it, if the config names the column. */
  readonly name: string;
  /** Such as `int(10) unsigned`. */
  readonly fullType: string;
  readonly takesText: boolean;
  /** Whether a unique key is on this column alone. */
  readonly isKey: boolean;
}

/**
 * Throws CONFIG_COLUMNS if a column is missing or can't be written, or if no unique key is on the id of own rows alone: an
 * insert must meet the existing row.
 */
export function insistOnColumns(
  names: Identifiers,
  columns: readonly TokenColumn[],
  options: PlacedTokenTable,
): void {
  const { table, rows, idColumn, tokenColumn } = options;
  const isOwn = rows === "own";
  const wanted = isOwn ? [idColumn, tokenColumn, "updated_at"] : [idColumn, tokenColumn];
  const missing = wanted.filter((name) => !columns.some((column) => column.name === name));
  if (missing.length > 0) {
    throw new SyncError("CONFIG_COLUMNS", `tokens.table: ${table} has no column ${missing.join(", ")}`, {
      hint: `its columns are: ${columns.map(({ name }) => name).join(", ")}`,
    });
  }
  const written = isOwn ? [idColumn, tokenColumn] : [tokenColumn];
  const unfit = columns.find(({ name, takesText }) => written.includes(name) && !takesText);
  if (unfit) {
    throw new SyncError("CONFIG_COLUMNS", `tokens.table: ${table} can't take text in column ${unfit.name}`, {
      hint: `it is ${unfit.fullType}, or generated; make it a text column of its own`,
    });
  }
  if (!isOwn || columns.some(({ name, isKey }) => name === idColumn && isKey)) return;
  throw new SyncError("CONFIG_COLUMNS", `tokens.table: ${table} may have several rows for one ${idColumn}`, {
    hint: `ALTER TABLE ${quotedTable(names, options)} ADD PRIMARY KEY (${names.quoteName(idColumn)})`,
  });
}

/** The error for a user without a right to the table. `more` are further rights for the GRANT. */
export function mayNotWrite(
  names: Identifiers,
  options: PlacedTokenTable,
  user: { readonly name: string; readonly quoted: string },
  more: readonly string[] = [],
  cause?: unknown,
): SyncError {
  const { table, rows, tokenColumn } = options;
  const rights =
    rows === "own"
      ? ["SELECT", "INSERT", "UPDATE", "DELETE"]
      : ["SELECT", `UPDATE (${names.quoteName(tokenColumn)})`];
  return new SyncError("TOKEN_STORE_UNAVAILABLE", `user ${user.name} may not write tokens to ${table}`, {
    hint: `GRANT ${[...more, ...rights].join(", ")} ON ${quotedTable(names, options)} TO ${user.quoted}`,
    cause,
  });
}
