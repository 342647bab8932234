import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareIds, MAX_ID_BYTES } from "../../../../src/core/group/tenant.ts";
import { anyText } from "../../../builders/arbitraries.ts";
import { NEVER, readAll, rowsOf } from "../../../contracts/rows-of.ts";
import { type FreshDatabase, freshDatabase } from "../../../support/databases/fresh-database.ts";
import { rounds } from "../../../support/long.ts";
import { mysqlSource } from "../../sql/source/source-database.ts";

const idsOf = async (url: string): Promise<unknown[]> =>
  (await rowsOf(mysqlSource(url, { table: "customers" }), ["id"])).map(([id]) => id);

/** A table of customers with these ids. */
async function customers(type: string, ids: readonly string[]): Promise<FreshDatabase> {
  const database = await freshDatabase("mysql");
  await database.query(`CREATE TABLE customers (id ${type})`);
  for (const id of ids) await database.query("INSERT INTO customers VALUES ($1)", [id]);
  return database;
}

describe("an id column", () => {
  test.each([
    ["decimal(9, 2)", "decimal"],
    ["double", "double"],
    ["boolean", "tinyint(1)"],
    ["bit(8)", "bit(8)"],
    ["datetime", "datetime"],
    ["json", "json"],
    ["varbinary(9)", "bytes"],
    ["binary(16)", "bytes"],
    ["blob", "bytes"],
    ["enum('good')", "enum"],
    ["set('good')", "set"],
  ])("of type %s is refused: its text is not one and the same for equal ids", async (type, name) => {
    const { url } = await customers(type, []);
    await expect(idsOf(url)).rejects.toMatchObject({
      code: "CONFIG_COLUMNS",
      message: `group.id: column id is of type ${name}`,
      hint: expect.stringContaining("a query can cast"),
    });
  });

  test("may hold what no id can be: it is read all the same, cut to what is enough to refuse it", async () => {
    const long = (end: string) => `${"😀".repeat(MAX_ID_BYTES)}${end}`;
    const { url } = await customers("longtext", [long("b"), "a\0b", "a", "", long("ab"), "a\0"]);
    const cut = expect.stringMatching(/^(😀){512}[ab]$/u);
    expect(await idsOf(url)).toEqual(["", "a", "a\0", "a\0b", cut, cut]);
    expect(await idsOf(url)).toEqual([...(await idsOf(url))].toSorted((a, b) => compareIds(`${a}`, `${b}`)));
  });
});

const digestsOf = async ({ url }: FreshDatabase, columns: readonly string[]) =>
  (await readAll(mysqlSource(url, { table: "customers" }), columns)).rows.map((row) => row.digest);

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
    { numRuns: rounds(100) },
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
