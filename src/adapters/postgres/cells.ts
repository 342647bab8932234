import { parse as parseArray } from "postgres-array";
import type { Json } from "../../core/json.ts";
import { Unusable } from "../../core/tenant.ts";
import { json, type Parse } from "../sql/described-rows.ts";

/** What pg_type says of a type. */
export interface TypeInfo {
  readonly oid: number;
  readonly name: string;
  /** What a domain is made of; 0 for other types. */
  readonly base: number;
  /** The type of an array's elements; 0 for other types. */
  readonly element: number;
}

const integer: Parse = (text) => {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
};

const double: Parse = (text) => {
  const value = Number(text);
  return Number.isFinite(value) ? value : new Unusable(`holds ${text}, which JSON has no number for`);
};

const TIMESTAMP = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?(?:\+00)?$/;

/** ISO 8601 in UTC, with milliseconds as JavaScript writes them, or with microseconds where there are any. */
const timestamp: Parse = (text) => {
  const [, date, time, fraction = ""] = TIMESTAMP.exec(text) ?? [];
  if (!date) return new Unusable(`holds ${text}, which is no time of the years 1 to 9999`);
  return `${date}T${time}.${fraction.padEnd(3, "0")}Z`;
};

const date: Parse = (text) =>
  /^\d{4}-\d\d-\d\d$/.test(text)
    ? text
    : new Unusable(`holds ${text}, which is no date of the years 1 to 9999`);

const asIs: Parse = (text) => text;

const PARSERS: Readonly<Record<string, Parse>> = {
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
  json,
  jsonb: json,
  bytea: () => new Unusable("holds bytes"),
  // CHAR(n) is padded with blanks that are no part of the value.
  bpchar: (text) => text.replace(/ +$/, ""),
};

/** How the values of each type become cells; everything not listed is text as PostgreSQL writes it. */
export function parsersOf(types: readonly TypeInfo[]): (oid: number) => Parse {
  const byOid = new Map(types.map((type) => [type.oid, type]));
  const parserOf = (oid: number): Parse => {
    const type = byOid.get(oid);
    if (!type) return asIs;
    if (type.base !== 0) return parserOf(type.base);
    if (type.element !== 0) return arrayOf(parserOf(type.element));
    return PARSERS[type.name] ?? asIs;
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

/** Whether its values may be of any length, and a cast to text writes them as PostgreSQL does. */
export function canBeLong(types: readonly TypeInfo[], oid: number): boolean {
  const type = types.find((one) => one.oid === oid);
  if (!type) return false;
  if (type.base !== 0) return canBeLong(types, type.base);
  return type.element !== 0 || LONG_TYPES.has(type.name);
}

const arrayOf =
  (parse: Parse): Parse =>
  (text) => {
    // Bounds that differ from 1 are written in front: [0:2]={…}
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

/** Types whose text form is one and the same for equal ids. */
export const ID_TYPES: ReadonlySet<string> = new Set([
  "text",
  "varchar",
  "bpchar",
  "citext",
  "name",
  "uuid",
  "int2",
  "int4",
  "int8",
]);
