import fc from "fast-check";
import { expect, test } from "vitest";
import { anyText } from "../../builders/arbitraries.ts";
import { NEVER, readAll } from "../../contracts/rows-of.ts";
import { type FreshDatabase, freshDatabase } from "../../support/fresh-database.ts";
import { mysqlSource } from "./source-database.ts";

const digestsOf = async ({ url }: FreshDatabase, columns: readonly string[]) =>
  (await readAll(mysqlSource(url, { table: "customers" }), columns)).rows.map((row) => row.digest);

test.each([
  ["varchar(9)", "int", "1"],
  ["int", "boolean", "1"],
  ["longtext", "json", '{"a": 1}'],
  ["varchar(10)", "date", "2026-03-01"],
])(
  "a value that becomes another by its column's type, from %s to %s, gets another digest",
  async (before, after, value) => {
    const database = await freshDatabase("mysql");
    await database.query(`CREATE TABLE customers (id varchar(9), plan ${before})`);
    await database.query("INSERT INTO customers VALUES ('a', $1)", [value]);
    const [old] = await digestsOf(database, ["id", "plan"]);
    await database.query(`ALTER TABLE customers MODIFY plan ${after}`);
    const [now] = await digestsOf(database, ["id", "plan"]);
    expect(now?.digest).not.toBe(old?.digest);
    expect(now?.bucket).toBe(old?.bucket);
  },
);

test("different rows have different digests, equal ones the same, wherever one column ends and the next begins", async () => {
  const database = await freshDatabase("mysql");
  await database.query("CREATE TABLE customers (id varchar(9), a varchar(40), b varchar(40), c longtext)");
  const cell = fc.oneof(
    fc.constantFrom(null, "", "NULL", "'", "''", "\\", "\\'", "'NULL'", "','", " "),
    anyText({ maxLength: 3 }),
  );
  const rows = fc.uniqueArray(fc.tuple(cell, cell, cell), {
    selector: (row) => JSON.stringify(row),
    minLength: 2,
    maxLength: 40,
  });
  await fc.assert(
    fc.asyncProperty(rows, async (unique) => {
      await database.query("DELETE FROM customers");
      for (const row of [...unique, ...unique]) {
        await database.query("INSERT INTO customers VALUES ('x', $1, $2, $3)", row);
      }
      const digests = await digestsOf(database, ["id", "a", "b", "c"]);
      expect(digests).toHaveLength(unique.length * 2);
      expect(new Set(digests.map(({ digest }) => digest)).size).toBe(unique.length);
    }),
    { numRuns: 30 },
  );
});

test("what a FLOAT's text leaves out changes its digest, and the bytes that no group can have do not", async () => {
  const database = await freshDatabase("mysql");
  await database.query("CREATE TABLE customers (id varchar(9), f float, logo blob)");
  await database.query("INSERT INTO customers VALUES ('x', 16777215, 'one'), ('x', 16777216, 'one')");
  const digests = await digestsOf(database, ["id", "f"]);
  expect(digests[0]?.digest).not.toBe(digests[1]?.digest);
  const before = await digestsOf(database, ["id", "logo"]);
  await database.query("UPDATE customers SET logo = 'two'");
  expect(await digestsOf(database, ["id", "logo"])).toEqual(before);
});

test("rows that are longer than a packet may be are not taken for equal", async () => {
  const { url } = await freshDatabase("mysql");
  const sums = async (end: string) => {
    const half = "repeat('a', (SELECT @@max_allowed_packet) * 0.6)";
    const query = `SELECT 'x' AS id, ${half} AS a, concat(${half}, '${end}') AS b`;
    const snapshot = await mysqlSource(url, { query }).open(["id", "a", "b"], "seed", NEVER);
    try {
      return await snapshot.buckets();
    } finally {
      await snapshot.close();
    }
  };
  const one = await sums("one");
  expect(one).toMatchObject([{ rows: 1, sum: expect.stringMatching(/^-?\d+$/) }]);
  expect(await sums("other")).not.toEqual(one);
});
