import { escape as quoted } from "mysql2";

/** What is in quotes, and parameters outside of them. The statements have no comments. */
const QUOTED_OR_PARAMETER = /'(?:[^'\\]|''|\\.)*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\$(\d+)/gs;

/** A list that nothing is in. */
const EMPTY = "SELECT NULL FROM DUAL WHERE FALSE";

/**
 * Puts the values in the places of $1, $2 …: an array becomes a list, for IN. The session's sql_mode must leave the
 * backslash its meaning, and its time zone be UTC.
 */
export const withValues = (text: string, values: readonly unknown[] = []): string =>
  text.replace(QUOTED_OR_PARAMETER, (found, parameter: string | undefined) =>
    parameter === undefined ? found : literal(values[Number(parameter) - 1]),
  );

function literal(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? EMPTY : value.map(literal).join(", ");
  if (value === null || value === undefined) return "NULL";
  switch (typeof value) {
    case "string":
    case "number":
    case "bigint":
    case "boolean":
      return quoted(value);
  }
  if (value instanceof Date) return quoted(value, false, "Z");
  throw new TypeError("a statement takes texts, numbers, booleans, times, and arrays of them");
}
