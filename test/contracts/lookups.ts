import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { compareIds, type SourceBucket, type TenantRow } from "../../src/core/group/tenant.ts";
import type { TenantLookups, TenantSource } from "../../src/ports/tenant-source.ts";
import { anyId } from "../builders/arbitraries.ts";
import { rounds } from "../support/long.ts";
import { collect } from "./collect.ts";
import { NEVER, readAll } from "./rows-of.ts";
import type { SourceDatabase, SourceOptions } from "./tenant-source.ts";

/** Lookups that are closed when the test is over. */
export async function lookupsOf(
  source: TenantSource,
  columns: readonly string[] = ["id", "name"],
): Promise<TenantLookups> {
  const lookups = await source.lookups(columns, "seed", NEVER);
  onTestFinished(() => lookups.close());
  return lookups;
}

const idsOf = (rows: readonly TenantRow[]): unknown[] => rows.map(({ cells }) => cells[0]);

const inOrder = (buckets: readonly SourceBucket[]): SourceBucket[] =>
  buckets.toSorted((a, b) => a.bucket - b.bucket);

/** Ids in which no type but text has anything. */
const ODD_IDS = [
  "",
  " ",
  "a\0b",
  "\0",
  "\ud800",
  "a\udc00",
  "😀",
  "'",
  '"',
  "\\",
  "{}",
  "NULL",
  "x".repeat(600),
];

/** How every source finds single tenants, on a database of its own for each test. */
export function lookupsContract(name: string, makeDatabase: () => Promise<SourceDatabase>): void {
  /** A table `customers` with these ids, and an index that the planner may pass over because the table is so small. */
  const customers = async (...ids: (string | null)[]): Promise<SourceDatabase> => {
    const database = await makeDatabase();
    await database.execute("CREATE TABLE customers (id varchar(40), name varchar(40))");
    await database.execute("CREATE INDEX customers_by_id ON customers (id)");
    await insert(database, ...ids);
    return database;
  };
  const insert = async (database: SourceDatabase, ...ids: (string | null)[]): Promise<void> =>
    database.insert(
      "customers",
      ids.map((id) => ({ id, name: `Name of ${id}` })),
    );

  describe(`${name}: looks single tenants up`, () => {
    test("find the rows that a full read finds, with their digests, whatever the ids", async () => {
      const database = await customers();
      const source = database.source({ table: "customers" });
      const lookups = await lookupsOf(source);
      const ids = fc.uniqueArray(fc.tuple(anyId(), fc.boolean()), { maxLength: 100, selector: ([id]) => id });
      await fc.assert(
        fc.asyncProperty(ids, ids, async (there, others) => {
          await database.execute("DELETE FROM customers");
          await insert(database, ...there.map(([id]) => id));
          const wanted = [...there.filter(([, isWanted]) => isWanted), ...others].map(([id]) => id);
          const { rows } = await readAll(source, ["id", "name"]);
          const found = rows.filter(({ cells: [id] }) => wanted.includes(id as string));
          expect(await lookups.rowsOf(wanted)).toEqual(found);
          const snapshot = await source.open(["id", "name"], "seed", NEVER);
          expect(await snapshot.rowsOf(wanted)).toEqual(found);
          await snapshot.close();
        }),
        { numRuns: rounds(30) },
      );
    });

    test("find all duplicates, and no row without an id", async () => {
      const { source } = await customers("b", null, "a", "b", "c", null);
      const lookups = await lookupsOf(source({ table: "customers" }));
      expect(idsOf(await lookups.rowsOf(["b", "a", "b"]))).toEqual(["a", "b", "b"]);
      expect(await lookups.rowsOf([])).toEqual([]);
    });

    test("find more ids than fit into one statement, in their order", async () => {
      const ids = Array.from({ length: 1_700 }, (_, index) => `${index % 2 === 0 ? "t" : "T"}-${index >> 1}`);
      const { source } = await customers(...ids);
      const lookups = await lookupsOf(source({ table: "customers" }));
      expect(idsOf(await lookups.rowsOf(ids))).toEqual(ids.toSorted(compareIds));
    });

    test("find nothing by an id that no row can have, and still find the others", async () => {
      const { source } = await customers("a", "?");
      const lookups = await lookupsOf(source({ table: "customers" }));
      for (const id of ODD_IDS) expect(await lookups.rowsOf([id])).toEqual([]);
      expect(idsOf(await lookups.rowsOf(["a", ...ODD_IDS]))).toEqual(["a"]);
    });

    test("mark removed rows and rows that aren't ready, and leave out what `where` leaves out", async () => {
      const { source } = await customers("a", "b", "c", "d");
      const options = {
        table: "customers",
        where: "id <> 'b' OR id = 'x' -- not that one",
        removedWhen: "id = 'c' -- that one",
        readyWhen: "id <> 'd' -- nor that one",
      };
      const lookups = await lookupsOf(source(options));
      const { rows } = await readAll(source(options), ["id", "name"]);
      expect(rows.map(({ removed, notReady }) => [removed, notReady])).toEqual([
        [false, false],
        [true, false],
        [false, true],
      ]);
      expect(await lookups.rowsOf(["a", "b", "c", "d"])).toEqual(rows);
      expect(lookups.isIndexed).toBe(true);
    });

    test("see the source as it is at each look", async () => {
      const database = await customers("a");
      const lookups = await lookupsOf(database.source({ table: "customers" }));
      expect(idsOf(await lookups.rowsOf(["a", "b"]))).toEqual(["a"]);
      await insert(database, "b");
      await database.execute("UPDATE customers SET name = 'New' WHERE id = 'a'");
      expect((await lookups.rowsOf(["a", "b"])).map(({ cells }) => cells)).toEqual([
        ["a", "New"],
        ["b", "Name of b"],
      ]);
    });

    test("in a snapshot see its moment, and leave its other reads as they are", async () => {
      const database = await customers("a", "b", "c");
      const source = database.source({ table: "customers" });
      const before = await readAll(source, ["id", "name"]);
      const snapshot = await source.open(["id", "name"], "seed", NEVER);
      onTestFinished(() => snapshot.close());
      await snapshot.buckets();
      expect(await snapshot.isIndexed()).toBe(true);
      await database.execute("DELETE FROM customers WHERE id = 'a'");
      await database.execute("UPDATE customers SET name = 'New' WHERE id = 'b'");
      await insert(database, "d");
      expect(await snapshot.rowsOf(["a", "b", "d"])).toEqual(before.rows.slice(0, 2));
      const rows = await collect(snapshot.rows(before.rows.map(({ digest }) => digest.bucket)));
      expect(rows).toEqual(before.rows);
      expect(inOrder(await snapshot.buckets())).toEqual(inOrder(before.buckets));
    });

    test("keep one connection, and take turns on it", async () => {
      const { source, sessions } = await customers("a", "b", "c");
      const lookups = await lookupsOf(source({ table: "customers" }));
      const looks = await Promise.all(["c", "a", "x", "b"].map((id) => lookups.rowsOf([id])));
      expect(looks.map(idsOf)).toEqual([["c"], ["a"], [], ["b"]]);
      await expect.poll(sessions).toBe(1);
      await lookups.close();
      await lookups.close();
      await expect.poll(sessions).toBe(0);
      await expect(lookups.rowsOf(["a"])).rejects.toMatchObject({ code: "INTERRUPTED" });
    });

    test("hold no lock between them", async () => {
      const { source, execute } = await customers("a");
      const lookups = await lookupsOf(source({ table: "customers" }));
      await lookups.rowsOf(["a"]);
      await execute("DROP TABLE customers");
      await expect(lookups.rowsOf(["a"])).rejects.toMatchObject({
        code: "SOURCE_UNAVAILABLE",
        message: expect.stringContaining("customers"),
      });
    });

    test("find the columns as they are since the table was altered", async () => {
      const database = await customers();
      await database.insert("customers", [{ id: "1", name: "2" }]);
      const source = database.source({ table: "customers" });
      const lookups = await lookupsOf(source);
      expect((await lookups.rowsOf(["1"]))[0]?.cells).toEqual(["1", "2"]);
      await database.execute("ALTER TABLE customers ADD COLUMN number integer");
      await database.execute("UPDATE customers SET number = 2");
      await database.execute("ALTER TABLE customers DROP COLUMN name");
      await database.execute("ALTER TABLE customers RENAME COLUMN number TO name");
      const [row] = await lookups.rowsOf(["1"]);
      expect(row?.cells).toEqual(["1", 2]);
      expect([row]).toEqual((await readAll(source, ["id", "name"])).rows);
      await expect.poll(() => database.sessions()).toBe(1);
    });

    test("name the table, and refuse another one than before", async () => {
      const { source } = await customers("a");
      const { table } = await lookupsOf(source({ table: "customers" }));
      expect(table).toMatch(/\.customers$/);
      const query = await lookupsOf(source({ query: "SELECT * FROM customers" }));
      expect(query.table).toBeNull();
      await expect(
        source({ table: "customers" }).lookups(["id"], "seed", NEVER, "other.customers"),
      ).rejects.toMatchObject({ code: "CONFIG_TABLE_MOVED" });
    });

    test.each<[string, SourceOptions, readonly string[], string]>([
      ["a missing column", { table: "customers" }, ["id", "plan"], "CONFIG_COLUMNS"],
      ["a condition with a mistake", { table: "customers", where: "plan ==== 1" }, ["id"], "CONFIG_SOURCE"],
      ["a missing table", { table: "clients" }, ["id"], "SOURCE_UNAVAILABLE"],
    ])("are refused for %s", async (_, options, columns, code) => {
      const { source, sessions } = await customers("a");
      await expect(source(options).lookups(columns, "seed", NEVER)).rejects.toMatchObject({ code });
      await expect.poll(sessions).toBe(0);
    });

    test("end with a stop", async () => {
      const { source } = await customers("a");
      const stop = new AbortController();
      const lookups = await source({ table: "customers" }).lookups(["id"], "seed", stop.signal);
      onTestFinished(() => lookups.close());
      stop.abort();
      await expect(lookups.rowsOf(["a"])).rejects.toMatchObject({ code: "INTERRUPTED" });
    });

    test.each<[string, boolean, SourceOptions]>([
      ["a table", true, { table: "customers" }],
      ["a view", true, { table: "clients" }],
      ["a query of its columns", true, { query: "SELECT id AS id, name FROM customers WHERE name <> 'x'" }],
      [
        "a query of an indexed column under another name",
        true,
        {
          query:
            "SELECT c.id AS id, c.name AS name FROM customers AS c LEFT JOIN plans AS p ON p.id = c.name",
        },
      ],
      ["a query that computes the id", false, { query: "SELECT concat(id, '') AS id, name FROM customers" }],
      ["a query with a limit", false, { query: "SELECT id, name FROM customers ORDER BY name LIMIT 2" }],
      [
        "a query that uses an index for something else",
        false,
        { query: "SELECT name AS id, id AS name FROM customers WHERE id = 'a'" },
      ],
      ["a table without an index", false, { table: "plans" }],
    ])("use the index of %s: %s", async (_, isIndexed, options) => {
      const { source, execute } = await customers("a", "b");
      await execute("CREATE VIEW clients AS SELECT id, name FROM customers");
      await execute("CREATE TABLE plans (id varchar(40), name varchar(40))");
      await execute("INSERT INTO plans VALUES ('a', 'A')");
      const lookups = await lookupsOf(source(options));
      expect(lookups.isIndexed).toBe(isIndexed);
      const snapshot = await source(options).open(["id", "name"], "seed", NEVER);
      expect(await snapshot.isIndexed()).toBe(isIndexed);
      await snapshot.close();
      const { rows } = await readAll(source(options), ["id", "name"]);
      for (const { cells } of rows) {
        const [id] = cells as [string];
        expect(await lookups.rowsOf([id])).toEqual(rows.filter((row) => row.cells[0] === id));
      }
    });
  });
}
