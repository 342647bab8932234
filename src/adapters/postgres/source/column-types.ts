import { parse as parseArray } from "postgres-array";
import { Unusable } from "../../../core/group/tenant.ts";
import type { Json } from "../../../core/text/json.ts";
import { asText, type CellParser, parseJsonCell } from "../../sql/source/cells.ts";

/** A row of pg_type. */
export interface TypeInfo {
  readonly oid: number;
  /** See `typeName`. */
  readonly name: string;
  readonly schema: string;
  /** The base type of a domain; 0 for other types. */
  readonly base: number;
  /** The type of an array's elements; 0 for other types. */
  readonly element: number;
}

const integer: CellParser = (text) => {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
};

const double: CellParser = (text) => {
  const value = Number(text);
  return Number.isFinite(value) ? value : new Unusable(`holds ${text}, which JSON has no number for`);
};

const TIMESTAMP = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?(?:\+00)?$/;

/** ISO 8601 in UTC, with milliseconds as JavaScript writes them, or with microseconds if the value has any. */
const timestamp: CellParser = (text) => {
  const [, date, time, fraction = ""] = TIMESTAMP.exec(text) ?? [];
  if (!date) return new Unusable(`holds ${text}, which is no time of the years 1 to 9999`);
  return `${date}T${time}.${fraction.padEnd(3, "0")}Z`;
};

const date: CellParser = (text) =>
  /^\d{4}-\d\d-\d\d$/.test(text)
    ? text
    : new Unusable(`holds ${text}, which is no date of the years 1 to 9999`);

const PARSERS: Readonly<Record<string, CellParser>> = {
  bool: (text) => text === "t",
  int2: integer,
  int4: integer,
  int8: integer,
  oid: integer,
  float4: double,
  float8: double,
  timestamp,
  timestamptz: timestamp,
  date,
  json: parseJsonCell,
  jsonb: parseJsonCell,
  bytea: () => new Unusable("holds bytes"),
  // CHAR(n) pads the text with blanks that are no part of the value.
  bpchar: (text) => text.replace(/ +$/, ""),
};

/** How the values of each type become cells. Types that aren't listed stay text as PostgreSQL writes it. */
export function parsersOf(types: readonly TypeInfo[]): (oid: number) => CellParser {
  const byOid = new Map(types.map((type) => [type.oid, type]));
  const parserOf = (oid: number): CellParser => {
    const type = byOid.get(oid);
    if (!type) return asText;
    if (type.base !== 0) return parserOf(type.base);
    if (type.element !== 0) return arrayOf(parserOf(type.element));
    return PARSERS[type.name] ?? asText;
  };
  return parserOf;
}

const LONG_TYPES: ReadonlySet<string> = new Set([
  "text",
  "varchar",
  "bpchar",
  "citext",
  "json",
  "jsonb",
  "xml",
]);

/** Whether values of the type can have any length. A cast to text leaves their text as it is. */
export function canBeLong(types: readonly TypeInfo[], oid: number): boolean {
  const type = types.find((one) => one.oid === oid);
  if (!type) return false;
  if (type.base !== 0) return canBeLong(types, type.base);
  return type.element !== 0 || LONG_TYPES.has(type.name);
}

const arrayOf =
  (parse: CellParser): CellParser =>
  (text) => {
    // An array whose lower bound isn't 1 begins with its bounds: [0:2]={…}
    const cells = parseArray(text.slice(text.indexOf("{")), parse);
    return firstUnusable(cells) ?? (cells as Json[]);
  };

function firstUnusable(cells: readonly unknown[]): Unusable | undefined {
  for (const cell of cells) {
    const found = Array.isArray(cell) ? firstUnusable(cell) : cell;
    if (found instanceof Unusable) return found;
  }
  return undefined;
}
