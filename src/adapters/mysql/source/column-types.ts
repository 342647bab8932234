import type { FieldPacket } from "mysql2/promise";
import { Unusable } from "../../../core/group/tenant.ts";
import { asText, type CellParser, parseJsonCell } from "../../sql/source/cells.ts";

/** How the values of a column become cells. */
export interface ColumnType {
  readonly name: string;
  /** The SQL for the text of a value. The text is exact and doesn't depend on the session. */
  readonly text: (column: string) => string;
  readonly parse: CellParser;
  /** Whether the type can be an id's: equal values always have the same text. */
  readonly isId: boolean;
  /** The size of an integer type. */
  readonly bits?: number;
}

/** A column of the source, as the server describes it. */
export interface DescribedColumn {
  readonly column: string;
  readonly field: FieldPacket;
  readonly type: ColumnType;
}

const toText = (value: string): string => `CONVERT(${value} USING utf8mb4)`;

const aType = (name: string, parse: CellParser, more: Partial<ColumnType> = {}): ColumnType => ({
  name,
  text: toText,
  parse,
  isId: false,
  ...more,
});

const integer: CellParser = (text) => {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
};

/** MySQL has no booleans: TINYINT(1) stands for one, but can hold other numbers. */
const boolean: CellParser = (text) => (text === "0" || text === "1" ? text === "1" : Number(text));

const double: CellParser = (text) => Number(text);

// MySQL's text of a FLOAT as a double may lack the last digits: round it to the nearest float.
const float: CellParser = (text) => shortestDecimal(Math.fround(Number(text)));

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIMESTAMP = /^(\S+) (\d\d:\d\d:\d\d)(?:\.(\d+))?$/;

/** False for dates that MySQL stores in some sql_modes: '0000-00-00', a zero month or day, the 31st of any month. */
function isDay(text: string): boolean {
  const [year = 0, month = 0, day = 0] = DATE.exec(text)?.slice(1).map(Number) ?? [];
  return year > 0 && month > 0 && day > 0 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

const date: CellParser = (text) =>
  isDay(text) ? text : new Unusable(`holds ${text}, which is no date of the years 1 to 9999`);

/** ISO 8601 in UTC, with milliseconds as JavaScript writes them, or with microseconds if the value has any. */
const timestamp: CellParser = (text) => {
  const [, day = "", time, fraction = ""] = TIMESTAMP.exec(text) ?? [];
  if (!isDay(day)) return new Unusable(`holds ${text}, which is no date of the years 1 to 9999`);
  return `${day}T${time}.${withoutZeros(fraction).padEnd(3, "0")}Z`;
};

const time: CellParser = (text) => {
  const [whole = "", fraction = ""] = text.split(".");
  const digits = withoutZeros(fraction);
  return digits === "" ? whole : `${whole}.${digits}`;
};

/** Zeros at the end come from the column's declared precision, not from the value. */
const withoutZeros = (fraction: string): string => fraction.replace(/0+$/, "");

const bits =
  (length: number): CellParser =>
  (text) =>
    length === 1 ? text === "1" : BigInt(text).toString(2).padStart(length, "0");

/** The query doesn't even select the bytes. */
const BYTES = aType("bytes", () => new Unusable("holds bytes"), {
  text: (column) => `CASE WHEN ${column} IS NOT NULL THEN '1' END`,
});

const INTEGERS: Readonly<Record<number, { name: string; bits: number }>> = {
  1: { name: "tinyint", bits: 8 },
  2: { name: "smallint", bits: 16 },
  3: { name: "int", bits: 32 },
  8: { name: "bigint", bits: 64 },
  9: { name: "mediumint", bits: 24 },
};

/** Types by MySQL's number for them, if the number alone tells the type. */
const TYPES: Readonly<Record<number, ColumnType>> = {
  0: aType("decimal", asText),
  // A FLOAT as text has six digits only: read it as a double.
  4: aType("float", float, { text: (column) => toText(`${column} + 0e0`) }),
  5: aType("double", double),
  7: aType("timestamp", timestamp),
  10: aType("date", date),
  11: aType("time", time),
  12: aType("datetime", timestamp),
  13: aType("year", integer),
  242: BYTES,
  245: aType("json", parseJsonCell),
  246: aType("decimal", asText),
  255: BYTES,
};

const BIT = 16;
const BINARY_CHARSET = 63;
const ZEROFILL = 64;
const ENUM = 256;
const SET = 2048;

/** The type of a result's column, from what the server says about it. */
export function columnTypeOf(field: FieldPacket): ColumnType {
  const { columnType: type = 0, columnLength: length = 0 } = field;
  const has = (flag: number): boolean => typeof field.flags === "number" && (field.flags & flag) !== 0;

  if (type === BIT) {
    return aType(`bit(${length})`, bits(length), { text: (column) => toText(`${column} + 0`) });
  }
  const kind = INTEGERS[type];
  if (kind?.name === "tinyint" && length === 1) return aType("tinyint(1)", boolean);
  const known = kind ? aType(kind.name, integer, { isId: true, bits: kind.bits }) : TYPES[type];
  // ZEROFILL pads the text with zeros that are no part of the value.
  if (known && has(ZEROFILL)) return { ...known, text: (column) => known.text(`${column} + 0`) };
  if (known) return known;

  if (field.extendedFormat === "json") return aType("json", parseJsonCell);
  if (field.characterSet === BINARY_CHARSET) return BYTES;
  if (has(ENUM)) return aType("enum", asText);
  if (has(SET)) return aType("set", asText);
  const name = field.extendedTypeName ?? "text";
  return aType(name, asText, { isId: name === "text" || name === "uuid" });
}

/**
 * The shortest decimal that is nearer to this single-precision number than to any other, as PostgreSQL writes it. If
 * two such decimals are equally near, the even one.
 */
function shortestDecimal(float: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const rounded = Number(float.toPrecision(digits));
    if (isNearest(rounded, float)) return evenHalf(float, digits) ?? rounded;
  }
  return Number(float.toPrecision(9));
}

/**
 * Whether the decimal is nearer to this float than to any other. The middle between two floats is nearest to neither.
 */
function isNearest(decimal: number, float: number): boolean {
  const mirrored = 2 * decimal - float;
  return Math.fround(decimal) === float && (decimal === float || Math.fround(mirrored) !== mirrored);
}

/** The even decimal below, if the float lies exactly in the middle of two decimals: toPrecision would round up. */
function evenHalf(float: number, digits: number): number | undefined {
  const exact = float.toExponential(digits);
  const [, even, exponent] = /^(.*[02468]\.?)5(e.*)$/.exec(exact) ?? [];
  if (even === undefined || Number(exact) !== float) return undefined;
  const below = Number(`${even}${exponent}`);
  return isNearest(below, float) ? below : undefined;
}
