import type { FieldPacket } from "mysql2";
import { Unusable } from "../../core/tenant.ts";
import { json, type Parse } from "../sql/described-rows.ts";
import { shortestDecimal } from "./float.ts";

/** How the values of a column become cells. */
export interface CellType {
  readonly name: string;
  /** The SQL for a value's text, exact and independent of the session. */
  readonly text: (column: string) => string;
  readonly parse: Parse;
  /** Equal ids have one and the same text. */
  readonly isId: boolean;
}

const asText = (value: string): string => `CONVERT(${value} USING utf8mb4)`;

const aType = (name: string, parse: Parse, more: Partial<CellType> = {}): CellType => ({
  name,
  text: asText,
  parse,
  isId: false,
  ...more,
});

const asIs: Parse = (text) => text;

const integer: Parse = (text) => {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
};

/** MySQL has no booleans: a TINYINT(1) is meant as one, and can hold more. */
const boolean: Parse = (text) => (text === "0" || text === "1" ? text === "1" : Number(text));

const double: Parse = (text) => Number(text);

// MySQL's text of a FLOAT's value as a double may lack its last digits, and then is none of a float.
const float: Parse = (text) => shortestDecimal(Math.fround(Number(text)));

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIMESTAMP = /^(\S+) (\d\d:\d\d:\d\d)(?:\.(\d+))?$/;

/** Depending on its sql_mode, MySQL stores '0000-00-00', parts that are zero, and the 31st of any month. */
function isDay(text: string): boolean {
  const [year = 0, month = 0, day = 0] = DATE.exec(text)?.slice(1).map(Number) ?? [];
  return year > 0 && month > 0 && day > 0 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

const date: Parse = (text) =>
  isDay(text) ? text : new Unusable(`holds ${text}, which is no date of the years 1 to 9999`);

/** ISO 8601 in UTC, with milliseconds as JavaScript writes them, or with microseconds where there are any. */
const timestamp: Parse = (text) => {
  const [, day = "", time, fraction = ""] = TIMESTAMP.exec(text) ?? [];
  if (!isDay(day)) return new Unusable(`holds ${text}, which is no date of the years 1 to 9999`);
  return `${day}T${time}.${withoutZeros(fraction).padEnd(3, "0")}Z`;
};

const time: Parse = (text) => {
  const [whole = "", fraction = ""] = text.split(".");
  const digits = withoutZeros(fraction);
  return digits === "" ? whole : `${whole}.${digits}`;
};

/** As many digits as the column was declared with say nothing about the value. */
const withoutZeros = (fraction: string): string => fraction.replace(/0+$/, "");

const bits =
  (length: number): Parse =>
  (text) =>
    length === 1 ? text === "1" : BigInt(text).toString(2).padStart(length, "0");

/** Their bytes are not even asked for. */
const BYTES = aType("bytes", () => new Unusable("holds bytes"), {
  text: (column) => `CASE WHEN ${column} IS NOT NULL THEN '1' END`,
});

const INTEGERS: Readonly<Record<number, string>> = {
  1: "tinyint",
  2: "smallint",
  3: "int",
  8: "bigint",
  9: "mediumint",
};

/** MySQL's numbers for the types that leave no question open. */
const TYPES: Readonly<Record<number, CellType>> = {
  0: aType("decimal", asIs),
  // As text it has six digits.
  4: aType("float", float, { text: (column) => asText(`${column} + 0e0`) }),
  5: aType("double", double),
  7: aType("timestamp", timestamp),
  10: aType("date", date),
  11: aType("time", time),
  12: aType("datetime", timestamp),
  13: aType("year", integer),
  242: BYTES,
  245: aType("json", json),
  246: aType("decimal", asIs),
  255: BYTES,
};

const BIT = 16;
const BINARY_CHARSET = 63;
const ZEROFILL = 64;
const ENUM = 256;
const SET = 2048;

/** What the server says of a result's column. */
export function cellTypeOf(field: FieldPacket): CellType {
  const { columnType: type = 0, columnLength: length = 0 } = field;
  const has = (flag: number): boolean => typeof field.flags === "number" && (field.flags & flag) !== 0;

  if (type === BIT) {
    return aType(`bit(${length})`, bits(length), { text: (column) => asText(`${column} + 0`) });
  }
  const integerName = INTEGERS[type];
  if (integerName === "tinyint" && length === 1) return aType("tinyint(1)", boolean);
  const known = integerName ? aType(integerName, integer, { isId: true }) : TYPES[type];
  // The zeros in front are there for show.
  if (known && has(ZEROFILL)) return { ...known, text: (column) => known.text(`${column} + 0`) };
  if (known) return known;

  if (field.extendedFormat === "json") return aType("json", json);
  if (field.characterSet === BINARY_CHARSET) return BYTES;
  if (has(ENUM)) return aType("enum", asIs);
  if (has(SET)) return aType("set", asIs);
  const name = field.extendedTypeName ?? "text";
  return aType(name, asIs, { isId: name === "text" || name === "uuid" });
}
