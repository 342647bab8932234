import { expect, test } from "vitest";
import { type Cell, Unusable } from "../../../../src/core/group/tenant.ts";
import { rowsOf } from "../../../contracts/rows-of.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { postgresSource } from "../../sql/source/source-database.ts";

const TYPES = `
  CREATE TYPE mood AS ENUM ('good', 'very bad');
  CREATE TYPE place AS (city text, floor int);
  CREATE DOMAIN seats AS int CHECK (VALUE > 0);
  CREATE DOMAIN more_seats AS seats;
  CREATE DOMAIN picture AS bytea;
  CREATE DOMAIN numbers AS int[];`;

const SETTINGS = ["datestyle = 'SQL, DMY'", "intervalstyle = 'postgres_verbose'", "extra_float_digits = -5"];

/** What the source makes of SQL expressions, in one read. */
async function cellsOf(expressions: readonly string[]): Promise<readonly Cell[]> {
  const { name, url, query } = await freshDatabase("postgres");
  await query(TYPES);
  for (const setting of SETTINGS) await query(`ALTER DATABASE ${name} SET ${setting}`);
  const columns = expressions.map((_, index) => `value_${index}`);
  const values = expressions.map((expression, index) => `${expression} AS ${columns[index]}`);
  const source = postgresSource(url, { query: `SELECT 'a' AS id, ${values.join(", ")}` });
  const [[, ...cells] = []] = await rowsOf(source, ["id", ...columns]);
  return cells as readonly Cell[];
}

type Becomes = readonly [expression: string, value: unknown];

/** The types that both kinds of databases have are in column-values.ts. These go by the session's settings. */
const BY_SETTINGS: readonly Becomes[] = [
  ["0.1::float4", 0.1],
  ["0.30000000000000004::float8", 0.30000000000000004],
  ["timestamptz '2024-03-01 12:00:00+05:45'", "2024-03-01T06:15:00.000Z"],
  ["timestamptz '0001-01-01 00:00:00+00'", "0001-01-01T00:00:00.000Z"],
  ["timestamp '9999-12-31 23:59:59.999999'", "9999-12-31T23:59:59.999999Z"],
  ["date '2024-02-01'", "2024-02-01"],
  ["timetz '12:34:56+05:45'", "12:34:56+05:45"],
  ["interval '1 year 2 months 3 days 04:05:06.7'", "P1Y2M3DT4H5M6.7S"],
];

/** What MySQL has no type for. */
const OF_POSTGRESQL: readonly Becomes[] = [
  ["4294967295::oid", 4294967295],
  ["'NaN'::numeric", "NaN"],
  ["'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
  ["'{\"n\": 1e400}'::json", { n: "1e400" }],
  ["'{\"__proto__\": 1}'::json", JSON.parse('{"__proto__": 1}')],
  ["'very bad'::mood", "very bad"],
  ["5::seats", 5],
  ["5::more_seats", 5],
  ["'{1,2}'::numbers", [1, 2]],
  ["int4range(1, 5)", "[1,5)"],
  ["ROW('Riga', 3)::place", "(Riga,3)"],
  ["'<a/>'::xml", "<a/>"],
  ["point(1, 2)", "(1,2)"],
];

const ARRAYS: readonly Becomes[] = [
  ["ARRAY[1, NULL, 3]", [1, null, 3]],
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
  ["ARRAY[9007199254740992::int8, 1]", ["9007199254740992", 1]],
  ["ARRAY[1.50::numeric]", ["1.50"]],
  ["ARRAY[0.1::float4]", [0.1]],
  [
    "ARRAY['a,b', '\"q\"', '{x}', E'\\\\', 'NULL', '', NULL, ' ']",
    ["a,b", '"q"', "{x}", "\\", "NULL", "", null, " "],
  ],
  ["ARRAY['x']::char(3)[]", ["x"]],
  ["ARRAY[timestamptz '2024-03-01 12:00:00+05:45']", ["2024-03-01T06:15:00.000Z"]],
  ["ARRAY[timestamp '2024-03-01 12:00:00']", ["2024-03-01T12:00:00.000Z"]],
  ["ARRAY[date '2024-03-01']", ["2024-03-01"]],
  ["ARRAY[interval '1 day']", ["P1D"]],
  ["ARRAY['[9007199254740993]'::jsonb, 'null'::jsonb, NULL]", [["9007199254740993"], null, null]],
  ["ARRAY['very bad', 'good']::mood[]", ["very bad", "good"]],
  ["ARRAY[int4range(1, 5)]", ["[1,5)"]],
  ["ARRAY[ROW('Riga', 3)::place]", ["(Riga,3)"]],
  ["ARRAY[5]::more_seats[]", [5]],
  ["'1 2'::int2vector", "1 2"],
  ["ARRAY['{1,2}', '{3}']::numbers[]", [[1, 2], [3]]],
];

const UNUSABLE: readonly Becomes[] = [
  ["'-Infinity'::float8", "holds -Infinity"],
  ["ARRAY[ARRAY[1, 'NaN']]::float8[]", "holds NaN"],
  ["timestamp '-infinity'", "holds -infinity"],
  ["timestamptz '10000-01-01 00:00:00+00'", "holds 10000-01-01 00:00:00+00"],
  ["timestamp '0044-03-15 12:00:00 BC'", "holds 0044-03-15 12:00:00 BC"],
  ["date '10000-01-01'", "holds 10000-01-01"],
  ["date '0044-03-15 BC'", "holds 0044-03-15 BC"],
  ["ARRAY[date 'infinity']", "holds infinity"],
  ["ARRAY['\\x00ff'::bytea]", "holds bytes"],
  ["'\\x00ff'::picture", "holds bytes"],
  ["ARRAY['\\x00ff']::picture[]", "holds bytes"],
  ["repeat('x', 3000000)", "holds more than 2097152 characters"],
  ["to_json(repeat('x', 3000000))", "holds more than 2097152 characters"],
  ["to_jsonb(repeat('x', 3000000))", "holds more than 2097152 characters"],
  ["ARRAY[repeat('x', 3000000)]", "holds more than 2097152 characters"],
];

test.each([
  ["goes by no setting of the session", BY_SETTINGS],
  ["of PostgreSQL alone becomes JSON too", OF_POSTGRESQL],
  ["of an array becomes a list", ARRAYS],
])("a value %s", async (_, examples) => {
  const cells = await cellsOf(examples.map(([expression]) => expression));
  expect(examples.map(([expression], index) => [expression, cells[index]])).toEqual(examples);
});

test("what no group can have is unusable, with the reason", async () => {
  const cells = await cellsOf(UNUSABLE.map(([expression]) => expression));
  expect(cells.filter((cell) => !(cell instanceof Unusable))).toEqual([]);
  expect(UNUSABLE.map(([expression], index) => [expression, cells[index]])).toMatchObject(
    UNUSABLE.map(([expression, reason]) => [expression, { reason: expect.stringContaining(String(reason)) }]),
  );
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
