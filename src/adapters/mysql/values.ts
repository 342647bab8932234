import type { TypeCastField, TypeCastNext } from "mysql2";

/** Reads a column of the ledger or of a token table: bytes are text there, and TINYINT(1) a boolean. */
export function columnValue(field: TypeCastField, next: TypeCastNext): unknown {
  switch (field.type) {
    case "TINY": {
      if (field.length !== 1) return next();
      const text = field.string();
      return text === null ? null : text !== "0";
    }
    case "STRING":
    case "VAR_STRING":
    case "VARCHAR":
    case "TINY_BLOB":
    case "BLOB":
    case "MEDIUM_BLOB":
    case "LONG_BLOB":
      return field.string("utf8");
    case "JSON":
      // Asked for the string, the driver warns on stderr at every row, also where it is told that it is UTF-8.
      return field.buffer()?.toString("utf8") ?? null;
    default:
      return next();
  }
}
