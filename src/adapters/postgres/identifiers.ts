import { SyncError } from "../../core/errors.ts";

/** The longest name that PostgreSQL keeps whole, in bytes; longer ones are cut without an error. */
const MAX_BYTES = 63;
const PART = /^(?:"((?:[^"]|"")+)"|([^".\s]+))$/;
const SEPARATOR = /\.(?=(?:[^"]*"[^"]*")*[^"]*$)/;

/** Quotes one name. Throws CONFIG_NAME where PostgreSQL could not hold it. */
export function quoteName(name: string): string {
  if (name === "" || name.includes("\0") || Buffer.byteLength(name) > MAX_BYTES) {
    throw new SyncError("CONFIG_NAME", `${JSON.stringify(name)} can't be a name in PostgreSQL`, {
      hint: `a name has 1 to ${MAX_BYTES} bytes`,
    });
  }
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Quotes a table as the config writes it: `customers`, `public.customers`, or with parts in double quotes,
 * `"My Schema".customers`. Names are taken as they are written, without folding them to lower case.
 */
export function quoteTable(table: string): string {
  const parts = table.split(SEPARATOR).map((part) => PART.exec(part.trim()));
  if (parts.length > 2 || parts.includes(null)) {
    throw new SyncError("CONFIG_NAME", `${JSON.stringify(table)} is not a table name`, {
      hint: "write table or schema.table, with odd names in double quotes",
    });
  }
  return parts.map((part) => quoteName(part?.[1]?.replaceAll('""', '"') ?? part?.[2] ?? "")).join(".");
}
