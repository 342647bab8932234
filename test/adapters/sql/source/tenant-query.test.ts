import fc from "fast-check";
import { expect, test } from "vitest";
import { columnTypeOf } from "../../../../src/adapters/mysql/source/column-types.ts";
import { parsersOf, type TypeInfo } from "../../../../src/adapters/postgres/source/column-types.ts";
import { type CellParser, parseCells } from "../../../../src/adapters/sql/source/cells.ts";
import { Unusable } from "../../../../src/core/group/tenant.ts";
import { anyText } from "../../../builders/arbitraries.ts";

const NAMES = ["bool", "int4", "float8", "timestamptz", "date", "json", "jsonb", "bytea", "bpchar", "text"];

/** Each type of PostgreSQL that has a parser of its own, an array of each, and a domain over each. */
function ofPostgres(): CellParser[] {
  const types = NAMES.flatMap((name, index): TypeInfo[] => [
    { oid: index + 1, name, schema: "pg_catalog", base: 0, element: 0 },
    { oid: index + 101, name: `_${name}`, schema: "pg_catalog", base: 0, element: index + 1 },
    { oid: index + 201, name: "domain", schema: "public", base: index + 1, element: 0 },
  ]);
  const parserOf = parsersOf(types);
  return types.map(({ oid }) => parserOf(oid));
}

/** Each of MySQL's and MariaDB's numbers for a type, and MariaDB's JSON. */
function ofMysql(): CellParser[] {
  const field = (columnType: number, more = {}) => ({ columnType, columnLength: 8, ...more }) as never;
  const numbered = Array.from({ length: 256 }, (_, columnType) => columnTypeOf(field(columnType)).parse);
  return [...numbered, columnTypeOf(field(252, { extendedFormat: "json" })).parse];
}

/** Beside any text: what is nearly JSON, an array of PostgreSQL, a time, a number. */
const nearly = fc.constantFrom(
  `{"note":"it\\'s"}`,
  `{"v":1.}`,
  "[-]",
  "{",
  '{"',
  "{{1},2",
  "[0:1",
  "{1,NULL}",
  "2026-02-30 25:61:61",
  "0000-00-00",
  "1e999",
  "--1",
  "[".repeat(100_000),
);

test.each([
  ["PostgreSQL", ofPostgres()],
  ["MySQL", ofMysql()],
])("no text whatever in a column of %s ends the read", (_, parsers) => {
  fc.assert(
    fc.property(fc.oneof(nearly, anyText()), (text) => {
      expect(
        parseCells(
          parsers.map(() => text),
          parsers,
        ),
      ).toHaveLength(parsers.length);
    }),
  );
});

test("what a parser stumbles over makes that one cell unusable", () => {
  const parse: CellParser = (text) => {
    if (text === "b") throw new RangeError("too deep");
    return text;
  };
  expect(parseCells(["a", "b", null], [parse, parse, parse])).toEqual([
    "a",
    new Unusable("holds a value that can't be read: too deep"),
    null,
  ]);
});
