import mysql from "mysql2";

/** A quoted text, name or comment, in which a `$1` is no placeholder; or a placeholder. */
const QUOTED_OR_PLACEHOLDER =
  /'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`[^`]*`|--\s[^\n]*|#[^\n]*|\/\*.*?\*\/|\$(\d+)/gs;

/** Puts values in the place of PostgreSQL's placeholders. An object is sent as JSON, as pg does. */
export function withValues(text: string, values: readonly unknown[]): string {
  return text.replace(QUOTED_OR_PLACEHOLDER, (found, number: string | undefined) => {
    if (number === undefined) return found;
    const place = Number(number) - 1;
    if (!(place in values)) throw new Error(`there is no value for ${found}`);
    return literal(values[place]);
  });
}

function literal(value: unknown): string {
  switch (typeof value) {
    case "string":
    case "number":
    case "bigint":
    case "boolean":
      return mysql.escape(value);
    case "object":
      if (value instanceof Date || Buffer.isBuffer(value)) return mysql.escape(value, false, "Z");
      return value === null ? "NULL" : mysql.escape(JSON.stringify(value));
    default:
      throw new Error(`a ${typeof value} is no SQL value`);
  }
}
