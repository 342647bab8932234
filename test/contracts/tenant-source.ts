import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SensitiveTable } from "../../src/adapters/sql/source/sensitive-tables.ts";
import { type Cell, compareIds, type SourceBucket, Unusable } from "../../src/core/group/tenant.ts";
import type { TenantSource } from "../../src/ports/tenant-source.ts";
import { anyId } from "../builders/arbitraries.ts";
import { bucketsOf } from "../fakes/tenant-source.ts";
import { rounds } from "../support/long.ts";
import { collect } from "./collect.ts";
import { lookupsContract } from "./lookups.ts";
import { batchesOf, NEVER, readAll, rowsOf } from "./rows-of.ts";
import { statedRowsContract } from "./stated-rows.ts";

export type ColumnKind = "text" | "smallint" | "integer" | "bigint" | "timestamp" | "json" | "bytes";

export interface SourceOptions {
  readonly table?: string;
  readonly query?: string;
  readonly where?: string;
  readonly removedWhen?: string;
  readonly readyWhen?: string;
  readonly rowSecurity?: "error" | "filter";
  readonly sensitiveTables?: () => Promise<readonly SensitiveTable[]>;
}

/** A database for one test, in the words of no dialect. */
export interface SourceDatabase {
  create(table: string, columns: Readonly<Record<string, ColumnKind>>): Promise<void>;
  /** Values as the database reads them from text; bytes in hexadecimal. */
  insert(table: string, rows: readonly Readonly<Record<string, string | null>>[]): Promise<void>;
  execute(sql: string): Promise<void>;
  source(options: SourceOptions): TenantSource;
  /** The connections that sources have open. */
  sessions(): Promise<number>;
}

/** What every source has to do, on a database of its own for each test. */
export function tenantSourceContract(name: string, makeDatabase: () => Promise<SourceDatabase>): void {
  /** A table `customers` with these ids and the columns `name` and `plan`. */
  const customers = async (...ids: (string | null)[]): Promise<SourceDatabase> => {
    const database = await makeDatabase();
    await database.create("customers", { id: "text", name: "text", plan: "text" });
    if (ids.length > 0) {
      await database.insert(
        "customers",
        ids.map((id) => ({ id, name: `Name of ${id}`, plan: "gold" })),
      );
    }
    return database;
  };
  const idsOf = async (source: TenantSource): Promise<Cell[]> =>
    (await rowsOf(source, ["id"])).map((row) => row[0] as Cell);

  lookupsContract(name, makeDatabase);

  describe(`${name}: a tenant source`, () => {
    test("gives the asked-for columns in the order asked, the id first", async () => {
      const { source } = await customers("a");
      const rows = await rowsOf(source({ table: "customers" }), ["id", "plan", "name"]);
      expect(rows).toEqual([["a", "gold", "Name of a"]]);
    });

    test("orders any ids by their bytes, in whatever order they were inserted", async () => {
      const database = await makeDatabase();
      await database.create("customers", { id: "text" });
      const source = database.source({ table: "customers" });
      // Each read connects anew, which takes longer than to read some hundred ids.
      const ids = fc.uniqueArray(anyId(), { maxLength: 400 });
      await fc.assert(
        fc.asyncProperty(ids, async (inserted) => {
          await database.execute("DELETE FROM customers");
          await database.insert(
            "customers",
            inserted.map((text) => ({ id: text })),
          );
          expect(await idsOf(source)).toEqual(inserted.toSorted(compareIds));
        }),
        { numRuns: rounds(40) },
      );
    });

    test("gives duplicates side by side, and rows without an id last", async () => {
      const { source } = await customers("b", null, "a", "b", null);
      const ids = await idsOf(source({ table: "customers" }));
      expect(ids).toEqual(["a", "b", "b", null, null]);
    });

    test("bytes are unusable, and a null is a null in every type", async () => {
      const { create, insert, source } = await makeDatabase();
      await create("customers", { id: "text", logo: "bytes", seats: "integer", extra: "json" });
      await insert("customers", [
        { id: "a", logo: "00ff", seats: null, extra: null },
        { id: "b", logo: null, seats: null, extra: null },
      ]);
      const rows = await rowsOf(source({ table: "customers" }), ["id", "logo", "seats", "extra"]);
      expect(rows).toEqual([
        ["a", expect.any(Unusable), null, null],
        ["b", null, null, null],
      ]);
    });

    test.each([
      ["a condition", "id <> 'b'"],
      ["one with alternatives", "id = 'a' OR id = 'c'"],
      ["one that ends with a comment", "id <> 'b' -- not that one"],
    ])("where: %s", async (_, where) => {
      const { source } = await customers("a", "b", "c");
      expect(await idsOf(source({ table: "customers", where }))).toEqual(["a", "c"]);
    });

    test.each([
      ["a query", "SELECT id, name FROM customers WHERE id <> 'b'"],
      ["one with an order and a semicolon", "SELECT * FROM customers WHERE id <> 'b' ORDER BY id DESC ;\n"],
      ["one that ends with a comment", "SELECT * FROM customers WHERE id <> 'b' -- not that one"],
      ["one with a subquery", "WITH c AS (SELECT * FROM customers) SELECT id FROM c WHERE id <> 'b'"],
    ])("query: %s", async (_, query) => {
      const { source } = await customers("a", "b", "c");
      expect(await idsOf(source({ query }))).toEqual(["a", "c"]);
    });

    test("names all the columns that are missing, and those that are there", async () => {
      const { source } = await customers("a");
      const rows = rowsOf(source({ table: "customers" }), ["id", "Name", "plan", "region"]);
      await expect(rows).rejects.toMatchObject({
        code: "CONFIG_COLUMNS",
        message: "customers has no column Name, region",
        hint: expect.stringContaining("id, name, plan"),
      });
    });

    test.each([
      ["a condition with a mistake", { table: "customers", where: "plan ==== 1" }],
      ["a condition on a column that isn't there", { table: "customers", where: "colour = 'red'" }],
      ["a query with a mistake", { query: "SELEC * FROM customers" }],
      ["a query with two columns of one name", { query: "SELECT id, id FROM customers" }],
    ])("%s is a mistake in the config", async (_, options) => {
      const { source, sessions } = await customers("a");
      await expect(rowsOf(source(options), ["id"])).rejects.toMatchObject({
        code: "CONFIG_SOURCE",
        hint: expect.stringContaining("source."),
      });
      await expect.poll(sessions).toBe(0);
    });

    const AND_THEN = "COMMIT; DELETE FROM customers; COMMIT; SELECT id FROM customers WHERE (id = 'a'";
    test.each<[string, SourceOptions]>([
      ["where", { table: "customers", where: "id = 'a') OR (id = 'b'" }],
      ["removed_when", { table: "customers", removedWhen: "id = 'a') OR (id = 'b'" }],
      ["ready_when", { table: "customers", readyWhen: "id = 'a') OR (id = 'b'" }],
      ["where", { table: "customers", where: `id = 'a'); ${AND_THEN}` }],
      ["removed_when", { table: "customers", removedWhen: `id = 'a'); ${AND_THEN}` }],
      ["ready_when", { table: "customers", readyWhen: `id = 'a'); ${AND_THEN}` }],
      [
        "query",
        { query: `SELECT id FROM customers) AS t; ${AND_THEN}) AND id IN (SELECT id FROM customers` },
      ],
    ])("%s can't leave its parentheses, nor add a statement: %j", async (key, options) => {
      const { source, sessions } = await customers("a", "b");
      await expect(source(options).open(["id"], "seed", NEVER)).rejects.toMatchObject({
        code: "CONFIG_SOURCE",
        hint: expect.stringContaining(`source.${key}`),
      });
      await expect.poll(sessions).toBe(0);
      expect(await idsOf(source({ table: "customers" }))).toEqual(["a", "b"]);
    });

    test("a table that isn't there is named", async () => {
      const { source, sessions } = await makeDatabase();
      await expect(rowsOf(source({ table: "customers" }), ["id"])).rejects.toMatchObject({
        code: "SOURCE_UNAVAILABLE",
        message: expect.stringContaining("customers"),
        hint: expect.stringContaining("check the table's name"),
      });
      await expect.poll(sessions).toBe(0);
    });

    test("reads one snapshot: what others commit meanwhile is not seen", async () => {
      const ids = Array.from({ length: 7_000 }, (_, index) => `t-${10_000 + index}`);
      const database = await customers(...ids);
      const seen: Cell[][] = [];
      let touched = false;
      for await (const batch of batchesOf(database.source({ table: "customers" }), ["id", "plan"])) {
        seen.push(...batch.map((row) => [...row]));
        if (touched) continue;
        touched = true;
        await database.insert("customers", [{ id: "zz", name: "Late", plan: "gold" }]);
        await database.execute("UPDATE customers SET plan = 'silver'");
        await database.execute("DELETE FROM customers WHERE id = 't-16999'");
      }
      expect(seen).toEqual(ids.map((id) => [id, "gold"]));
      await expect.poll(database.sessions).toBe(0);
    });

    /** The condition, what it makes of a row it is true of, and which one is true of b alone. */
    const CONDITIONS = [
      { key: "removed_when", option: "removedWhen", marks: "removed", ofB: (is: string) => is },
      { key: "ready_when", option: "readyWhen", marks: "notReady", ofB: (is: string) => `NOT (${is})` },
    ] as const;

    describe.each(CONDITIONS)("by source.$key", ({ key, option, marks, ofB }) => {
      const markedIds = async (source: TenantSource): Promise<Cell[]> => {
        const { rows } = await readAll(source, ["id"]);
        return rows.flatMap((row) => (row[marks] ? [row.cells[0] as Cell] : []));
      };

      test.each([
        ["of the table's name", "customers.plan = 'gold' AND id = 'b'"],
        ["with alternatives", "id = 'b' OR id = 'x'"],
        ["with a subquery", "EXISTS (SELECT 1 FROM closed WHERE closed.id = customers.id)"],
      ])("takes a condition %s, beside a table, that may end with a comment", async (_, isB) => {
        const { create, insert, source } = await customers("a", "b", "c");
        await create("closed", { id: "text" });
        await insert("closed", [{ id: "b" }]);
        const options = { table: "customers", [option]: `${ofB(isB)} -- that one` };
        expect(await markedIds(source(options))).toEqual(["b"]);
      });

      test("takes a condition on any column of a query", async () => {
        const { source } = await customers("a", "b");
        const query = "SELECT id, name AS label FROM customers -- all of them";
        const options = { query, [option]: `${ofB("label = 'Name of b'")} -- that one` };
        expect(await markedIds(source(options))).toEqual(["b"]);
      });

      test.each([
        ["a mistake in it", "plan ===="],
        ["a column that isn't there", "colour = 'red'"],
        ["an aggregate", "count(*) > 1"],
      ])("takes no condition that has %s", async (_, condition) => {
        const { source, sessions } = await customers("a");
        await expect(
          source({ table: "customers", [option]: condition }).open(["id"], "seed", NEVER),
        ).rejects.toMatchObject({
          code: "CONFIG_SOURCE",
          message: expect.stringContaining("customers"),
          hint: expect.stringContaining(`source.${key}`),
        });
        await expect.poll(sessions).toBe(0);
      });
    });

    statedRowsContract(async (rows, conditions) => {
      const { create, insert, source } = await makeDatabase();
      await create("customers", { id: "text", state: "text" });
      await insert(
        "customers",
        rows.map((row) => ({ ...row })),
      );
      return source({ table: "customers", ...conditions });
    });

    test("asks `where` first, then `removed_when`, then `ready_when`", async () => {
      const { source } = await customers("a", "b", "c", "d");
      const options = {
        table: "customers",
        where: "id <> 'b' -- not that one",
        removedWhen: "id = 'c' OR id = 'b'",
        readyWhen: "id = 'd'",
      };
      const { rows, buckets } = await readAll(source(options), ["id"]);
      expect(rows.map(({ cells, removed, notReady }) => [...cells, removed, notReady])).toEqual([
        ["a", false, true],
        ["c", true, false],
        ["d", false, false],
      ]);
      expect(buckets.reduce((sum, { notReady }) => sum + notReady, 0)).toBe(1);
    });

    describe("has buckets", () => {
      const COLUMNS = ["id", "name", "plan"];
      const inOrder = (sums: readonly SourceBucket[]) => sums.toSorted((a, b) => a.bucket - b.bucket);

      test("whose sums are those of their rows, duplicates and missing ids included", async () => {
        const { source } = await customers("a", "b", "b", null, null, "ü", "😀");
        const { buckets, rows } = await readAll(source({ table: "customers" }), COLUMNS);
        expect(rows).toHaveLength(7);
        expect(inOrder(buckets)).toEqual(inOrder(bucketsOf(rows)));
      });

      test("and gives the rows of some of them, in order, and of no other", async () => {
        const { source } = await customers(...Array.from({ length: 50 }, (_, index) => `t-${index}`), null);
        const all = (await readAll(source({ table: "customers" }), COLUMNS)).rows;
        const wanted = all.filter((_, index) => index % 3 === 0).map((row) => row.digest.bucket);
        const snapshot = await source({ table: "customers" }).open(COLUMNS, "seed", NEVER);
        const some = await collect(snapshot.rows(wanted));
        await snapshot.close();
        expect(some).toEqual(all.filter((row) => wanted.includes(row.digest.bucket)));
        expect(some.length).toBeLessThan(all.length);
      });

      test("that stay where they are when a row changes, with another digest for every change", async () => {
        const { source, execute } = await customers("a");
        const [before] = (await readAll(source({ table: "customers" }), COLUMNS)).rows;
        const seen = new Set([before?.digest.digest]);
        for (const change of ["name = 'x'", "name = NULL", "name = ''", "plan = 'x'", "plan = NULL"]) {
          await execute(`UPDATE customers SET name = 'Name of a', plan = 'gold'`);
          await execute(`UPDATE customers SET ${change}`);
          const [after] = (await readAll(source({ table: "customers" }), COLUMNS)).rows;
          expect(after?.digest.bucket).toBe(before?.digest.bucket);
          seen.add(after?.digest.digest);
        }
        expect(seen.size).toBe(6);
      });

      test("whose digests depend on the seed, and on nothing of the session", async () => {
        const { source } = await customers("a");
        const read = async (seed: string) =>
          (await readAll(source({ table: "customers" }), COLUMNS, seed)).rows;
        expect(await read("one")).toEqual(await read("one"));
        expect(await read("one")).not.toEqual(await read("other"));
      });
    });

    test("closes its connection when the reader stops early", async () => {
      const { source, sessions } = await customers(
        ...Array.from({ length: 5_000 }, (_, index) => `${index}`),
      );
      for await (const batch of batchesOf(source({ table: "customers" }), ["id"])) {
        expect(batch.length).toBeGreaterThan(0);
        expect(await sessions()).toBe(1);
        break;
      }
      await expect.poll(sessions).toBe(0);
    });
  });
}
