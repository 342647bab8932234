import { escapeLiteral, type FieldDef } from "pg";
import { type ChangePosition, MOST_AHEAD_MS, OVERLAP_MS } from "../../../core/changes/change-window.ts";
import { wrongChangeType } from "../../sql/source/change-feed.ts";
import type { ChangeQuery } from "../../sql/source/source-dialect.ts";
import { quoteName } from "../connection/identifiers.ts";
import { isFoundByIndex } from "./index-use.ts";
import type { PostgresSourceSession } from "./source-session.ts";

/** Conspicuous in a plan, and right for any type of time or number. */
const PROBES = { time: "2001-02-03 04:05:06.789", number: "31415" } as const;

export function isChangeIndexed(
  session: Pick<PostgresSourceSession, "query">,
  { isTime }: ChangeQuery,
  select: (from: ChangePosition) => string,
): Promise<boolean> {
  const value = isTime ? PROBES.time : PROBES.number;
  return isFoundByIndex(session, select({ value, isIncluded: true }), value);
}

/** How the values of a type are compared with the clock and with each other. */
interface ChangeType {
  readonly name: string;
  readonly isTime: boolean;
  readonly before: (column: string) => string;
  readonly counts: (column: string) => string;
}

const isThere = (column: string): string => `${column} IS NOT NULL`;

const number = (name: string, counts = isThere): ChangeType => ({
  name,
  isTime: false,
  before: (column) => `${column}::pg_catalog.text`,
  counts,
});

/** `mostAhead` is the latest time that counts. It leaves out `infinity`, too. */
const time = (name: string, mostAhead: string): ChangeType => ({
  name,
  isTime: true,
  before: (column) =>
    `(${column} OPERATOR(pg_catalog.-) '${OVERLAP_MS} milliseconds'::pg_catalog.interval)::pg_catalog.text`,
  counts: (column) => `${column} OPERATOR(pg_catalog.<=) ${mostAhead}`,
});

const fromNow = (now: string, interval: string): string =>
  `(${now} OPERATOR(pg_catalog.+) '${interval}'::pg_catalog.interval)`;

/** By the oid of the type. The server says the type below a domain. */
const TYPES: Readonly<Record<number, ChangeType>> = {
  20: number("int8"),
  21: number("int2"),
  23: number("int4"),
  // NaN is above all numbers.
  1700: number("numeric", (column) => `${column} OPERATOR(pg_catalog.<) 'NaN'::pg_catalog.numeric`),
  5069: number("xid8"),
  // Of which time zone nobody knows. The farthest is 14 hours ahead of UTC.
  1114: time("timestamp", fromNow("pg_catalog.timezone('UTC', pg_catalog.now())", "15 hours")),
  1184: time("timestamptz", fromNow("pg_catalog.now()", `${MOST_AHEAD_MS} milliseconds`)),
};

export function changeQuery(fields: readonly FieldDef[], column: string): ChangeQuery {
  const type = TYPES[fields[0]?.dataTypeID ?? 0];
  if (!type) throw wrongChangeType(column, RIGHT_TYPES);
  const quoted = quoteName(column);
  return {
    type: type.name,
    isTime: type.isTime,
    column: quoted,
    text: `${quoted}::pg_catalog.text`,
    before: type.before(quoted),
    counts: type.counts(quoted),
    literal: (text) => `${escapeLiteral(text)}::pg_catalog.${type.name}`,
    operator: (symbol) => `OPERATOR(pg_catalog.${symbol})`,
  };
}

const RIGHT_TYPES = "timestamptz, timestamp, smallint, integer, bigint, numeric or xid8";
