import { expect, test } from "vitest";
import { type Cell, Unusable } from "../../../../src/core/group/tenant.ts";
import { rowsOf } from "../../../contracts/rows-of.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { reusedDatabases } from "../../../support/databases/reused-database.ts";
import { postgresSource } from "./source-database.ts";

const TYPES = `
  CREATE TYPE mood AS ENUM ('good', 'very bad');
  CREATE TYPE place AS (city text, floor int);
  CREATE DOMAIN seats AS int CHECK (VALUE > 0);
  CREATE DOMAIN more_seats AS seats;
  CREATE DOMAIN picture AS bytea;
  CREATE DOMAIN numbers AS int[];`;

/** Databases with these types, whose settings are as odd as can be. Reading them leaves nothing to be restored. */
const oddDatabase = reusedDatabases({
  prepare: async ({ name, query }) => {
    await query(TYPES);
    for (const setting of [
      "datestyle = 'SQL, DMY'",
      "intervalstyle = 'postgres_verbose'",
      "extra_float_digits = -5",
    ]) {
      await query(`ALTER DATABASE ${name} SET ${setting}`);
    }
  },
  restore: async () => {},
  contents: async () => "",
});

/** What the source makes of one SQL expression. */
async function cellOf(expression: string): Promise<Cell> {
  const { url } = await oddDatabase();
  const source = postgresSource(url, { query: `SELECT 'a' AS id, ${expression} AS value` });
  const [row] = await rowsOf(source, ["id", "value"]);
  return row?.[1] as Cell;
}

test.each<[expression: string, value: unknown]>([
  ["true", true],
  ["32767::int2", 32767],
  ["(-2147483648)::int4", -2147483648],
  ["9007199254740991::int8", 9007199254740991],
  ["9007199254740992::int8", "9007199254740992"],
  ["(-9223372036854775808)::int8", "-9223372036854775808"],
  ["4294967295::oid", 4294967295],
  ["1.50::numeric", "1.50"],
  ["12345678901234567890.123::numeric", "12345678901234567890.123"],
  ["'NaN'::numeric", "NaN"],
  ["0.1::float4", 0.1],
  ["0.30000000000000004::float8", 0.30000000000000004],
  ["1e308::float8", 1e308],

  ["'x'::char(3)", "x"],
  ["E'x\\t'::char(3)", "x\t"],
  ["'x '::varchar(3)", "x "],
  ["''::text", ""],
  ["E'a\\u0001\\n😀'::text", "a\u0001\n😀"],

  ["timestamptz '2024-03-01 12:00:00+05:45'", "2024-03-01T06:15:00.000Z"],
  ["timestamptz '2024-03-01 12:00:00.5+00'", "2024-03-01T12:00:00.500Z"],
  ["timestamptz '2024-03-01 12:00:00.123456+00'", "2024-03-01T12:00:00.123456Z"],
  ["timestamptz '0001-01-01 00:00:00+00'", "0001-01-01T00:00:00.000Z"],
  ["timestamp '9999-12-31 23:59:59.999999'", "9999-12-31T23:59:59.999999Z"],
  ["date '0001-01-01'", "0001-01-01"],
  ["date '9999-12-31'", "9999-12-31"],
  ["time '12:34:56.5'", "12:34:56.5"],
  ["timetz '12:34:56+05:45'", "12:34:56+05:45"],
  ["interval '1 year 2 months 3 days 04:05:06.7'", "P1Y2M3DT4H5M6.7S"],

  ["'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
  ['\'{"b": 1, "a": [1.5, null]}\'::json', { b: 1, a: [1.5, null] }],
  ["'[9007199254740993, 1]'::jsonb", ["9007199254740993", 1]],
  ["'{\"n\": 1e400}'::json", { n: "1e400" }],
  ["'\"text\"'::jsonb", "text"],
  ["'null'::jsonb", null],
  ["'{\"__proto__\": 1}'::json", JSON.parse('{"__proto__": 1}')],

  ["'very bad'::mood", "very bad"],
  ["5::seats", 5],
  ["5::more_seats", 5],
  ["'{1,2}'::numbers", [1, 2]],
  ["'10.0.0.0/8'::inet", "10.0.0.0/8"],
  ["int4range(1, 5)", "[1,5)"],
  ["ROW('Riga', 3)::place", "(Riga,3)"],
  ["'<a/>'::xml", "<a/>"],
  ["B'101'", "101"],
  ["point(1, 2)", "(1,2)"],

  ["ARRAY[1, NULL, 3]", [1, null, 3]],
  [
    "ARRAY[[1, 2], [3, 4]]",
    [
      [1, 2],
      [3, 4],
    ],
  ],
  ["ARRAY[]::int[]", []],
  ["'[0:2]={1,2,3}'::int[]", [1, 2, 3]],
  [
    "'[-1:0][2:3]={{1,2},{3,4}}'::int[]",
    [
      [1, 2],
      [3, 4],
    ],
  ],
  ["ARRAY[true, false]", [true, false]],
  ["ARRAY[1::int2]", [1]],
  ["ARRAY[9007199254740992::int8, 1]", ["9007199254740992", 1]],
  ["ARRAY[1.50::numeric]", ["1.50"]],
  ["ARRAY[0.5::float4, 0.1]::float8[]", [0.5, 0.1]],
  ["ARRAY[0.1::float4]", [0.1]],
  [
    "ARRAY['a,b', '\"q\"', '{x}', E'\\\\', 'NULL', '', NULL, ' ']",
    ["a,b", '"q"', "{x}", "\\", "NULL", "", null, " "],
  ],
  ["ARRAY['x']::char(3)[]", ["x"]],
  ["ARRAY['x ']::varchar(3)[]", ["x "]],
  ["ARRAY[timestamptz '2024-03-01 12:00:00+05:45']", ["2024-03-01T06:15:00.000Z"]],
  ["ARRAY[timestamp '2024-03-01 12:00:00']", ["2024-03-01T12:00:00.000Z"]],
  ["ARRAY[date '2024-03-01']", ["2024-03-01"]],
  ["ARRAY[time '12:00']", ["12:00:00"]],
  ["ARRAY[interval '1 day']", ["P1D"]],
  ["ARRAY['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid]", ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]],
  ['ARRAY[\'{"a": "x, y"}\'::json]', [{ a: "x, y" }]],
  ["ARRAY['[9007199254740993]'::jsonb, 'null'::jsonb, NULL]", [["9007199254740993"], null, null]],
  ["ARRAY['very bad', 'good']::mood[]", ["very bad", "good"]],
  ["ARRAY['10.0.0.1']::inet[]", ["10.0.0.1"]],
  ["ARRAY[int4range(1, 5)]", ["[1,5)"]],
  ["ARRAY[ROW('Riga', 3)::place]", ["(Riga,3)"]],
  ["ARRAY[5]::seats[]", [5]],
  ["ARRAY[5]::more_seats[]", [5]],
  ["'1 2'::int2vector", "1 2"],
  ["ARRAY['{1,2}', '{3}']::numbers[]", [[1, 2], [3]]],
])("%s becomes %j", async (expression, value) => {
  expect(await cellOf(expression)).toEqual(value);
});

test.each([
  ["'NaN'::float8", "holds NaN"],
  ["'-Infinity'::float8", "holds -Infinity"],
  ["'Infinity'::float4", "holds Infinity"],
  ["ARRAY[1, 'NaN']::float8[]", "holds NaN"],
  ["ARRAY[ARRAY[1, 'NaN']]::float8[]", "holds NaN"],
  ["timestamptz 'infinity'", "holds infinity"],
  ["timestamp '-infinity'", "holds -infinity"],
  ["timestamptz '10000-01-01 00:00:00+00'", "holds 10000-01-01 00:00:00+00"],
  ["timestamp '0044-03-15 12:00:00 BC'", "holds 0044-03-15 12:00:00 BC"],
  ["date 'infinity'", "holds infinity"],
  ["date '10000-01-01'", "holds 10000-01-01"],
  ["date '0044-03-15 BC'", "holds 0044-03-15 BC"],
  ["ARRAY[date 'infinity']", "holds infinity"],
  ["'\\x00ff'::bytea", "holds bytes"],
  ["ARRAY['\\x00ff'::bytea]", "holds bytes"],
  ["'\\x00ff'::picture", "holds bytes"],
  ["ARRAY['\\x00ff']::picture[]", "holds bytes"],
  ["repeat('x', 3000000)", "holds more than 2097152 characters"],
  ["repeat('x', 3000000)::varchar", "holds more than 2097152 characters"],
  ["to_json(repeat('x', 3000000))", "holds more than 2097152 characters"],
  ["to_jsonb(repeat('x', 3000000))", "holds more than 2097152 characters"],
  ["ARRAY[repeat('x', 3000000)]", "holds more than 2097152 characters"],
])("%s is unusable", async (expression, reason) => {
  const cell = await cellOf(expression);
  expect(cell).toBeInstanceOf(Unusable);
  expect(cell).toMatchObject({ reason: expect.stringContaining(reason) });
});

test("no more of a value is read than a group has room for", async () => {
  const { url, query } = await freshDatabase();
  await query("CREATE TABLE customers (id text, name text)");
  await query("INSERT INTO customers VALUES (repeat('i', 10000), repeat('é', 2097152)), ('z', NULL)");
  const source = postgresSource(url, { table: "customers" });
  expect(await rowsOf(source, ["id", "name"])).toEqual([
    ["i".repeat(513), "é".repeat(2097152)],
    ["z", null],
  ]);
});
