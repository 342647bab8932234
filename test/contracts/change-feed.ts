import { describe, expect, onTestFinished, test } from "vitest";
import { type ChangedRow, MOST_AHEAD_MS, OVERLAP_MS } from "../../src/core/changes/change-window.ts";
import type { ChangeFeed, ChangeReader } from "../../src/ports/change-feed.ts";
import { NEVER } from "./rows-of.ts";

export interface FeedSettings {
  readonly table?: string;
  readonly query?: string;
  readonly where?: string;
  readonly removedWhen?: string;
  /** Default: `changed`. */
  readonly changeColumn?: string;
  /** Default: id and name. */
  readonly columns?: readonly string[];
}

/** What the contract needs of a database for one test. */
export interface FeedDatabase {
  execute(sql: string): Promise<unknown>;
  feed(settings: FeedSettings): ChangeFeed;
  /** Ends all connections of feeds. */
  cut(): Promise<void>;
  /** How many transactions of feeds are open. */
  openTransactions(): Promise<number>;
}

/** What differs between the databases. */
export interface FeedWords {
  /** Types that know their time zone, types that don't, and types of numbers, each with microseconds if it has any. */
  readonly zoned: string;
  readonly naive: string;
  readonly wholeSeconds: string;
  readonly numbers: readonly string[];
  /** Types of which no value is newer than another. */
  readonly wrong: readonly string[];
  /** A time in UTC as a literal. */
  readonly time: (text: string) => string;
  /** The database's clock, and so many seconds, for a column that knows its time zone. */
  readonly now: (seconds: number) => string;
  /** The same in UTC, for a column that doesn't. */
  readonly utcNow: (seconds: number) => string;
  readonly index: (table: string, column: string) => string;
}

/** What every change column has to do. */
export function changeFeedContract(
  name: string,
  words: FeedWords,
  makeDatabase: () => Promise<FeedDatabase>,
): void {
  const { time } = words;
  const customers = async (type: string, ...rows: (readonly [id: string, value: string])[]) => {
    const database = await makeDatabase();
    await database.execute(
      `CREATE TABLE customers (id varchar(40), name varchar(40), other int, changed ${type})`,
    );
    for (const [id, value] of rows) {
      await database.execute(`INSERT INTO customers VALUES ('${id}', 'Name', 1, ${value})`);
    }
    return database;
  };
  const open = async (feed: ChangeFeed): Promise<ChangeReader> => {
    const reader = await feed.open(NEVER);
    onTestFinished(() => reader.close());
    return reader;
  };
  const readerOf = (database: FeedDatabase, settings: FeedSettings = {}): Promise<ChangeReader> =>
    open(database.feed({ ...(settings.query === undefined && { table: "customers" }), ...settings }));
  const idsOf = (rows: readonly ChangedRow[]): (string | null)[] => rows.map((row) => row.user_group_id);
  const all = async (reader: ChangeReader): Promise<(string | null)[]> =>
    idsOf(await reader.rows(null, 1_000));

  describe(`${name}: a change column`, () => {
    test("has no newest value and no rows if the table is empty or all values are null", async () => {
      const database = await customers(words.zoned);
      const reader = await readerOf(database);
      expect([await reader.newest(), await reader.rows(null, 10)]).toEqual([null, []]);
      await database.execute("INSERT INTO customers VALUES ('a', 'A', 1, NULL)");
      expect([await reader.newest(), await reader.rows(null, 10)]).toEqual([null, []]);
    });

    test.each([
      ["with a time zone", words.zoned],
      ["without a time zone", words.naive],
    ])("of times %s is exact to the microsecond", async (_, type) => {
      const reader = await readerOf(
        await customers(
          type,
          ["c", time("2026-03-01 12:00:00.000002")],
          ["a", time("2026-03-01 12:00:00")],
          ["b", time("2026-03-01 12:00:00.000001")],
          ["d", time("2026-03-01 11:58:50.000002")],
        ),
      );
      const newest = await reader.newest();
      expect(newest?.value).toMatch(/^2026-03-01 12:00:00\.000002(\+00)?$/);
      expect(await all(reader)).toEqual(["d", "a", "b", "c"]);
      const [, , b, c] = await reader.rows(null, 10);
      expect(c?.value).toBe(newest?.value);
      const from = { value: b?.value ?? "" };
      expect(idsOf(await reader.rows({ ...from, isIncluded: true }, 10))).toEqual(["b", "c"]);
      expect(idsOf(await reader.rows({ ...from, isIncluded: false }, 10))).toEqual(["c"]);
      const before = { value: newest?.before ?? "" };
      expect(OVERLAP_MS).toBe(70_000);
      expect(idsOf(await reader.rows({ ...before, isIncluded: true }, 10))).toEqual(["d", "a", "b", "c"]);
      expect(idsOf(await reader.rows({ ...before, isIncluded: false }, 10))).toEqual(["a", "b", "c"]);
    });

    test("of whole seconds has equal values for rows of one second", async () => {
      const reader = await readerOf(
        await customers(
          words.wholeSeconds,
          ["a", time("2026-03-01 12:00:00")],
          ["b", time("2026-03-01 12:00:00")],
          ["c", time("2026-03-01 12:00:01")],
        ),
      );
      const [a, b] = await reader.rows(null, 10);
      expect(a?.value).toBe(b?.value);
      const from = { value: a?.value ?? "", isIncluded: true };
      expect(idsOf(await reader.rows(from, 10)).toSorted()).toEqual(["a", "b", "c"]);
      expect(idsOf(await reader.rows({ ...from, isIncluded: false }, 10))).toEqual(["c"]);
    });

    test.each(words.numbers)("of type %s is exact, and ordered as numbers are", async (type) => {
      const [large, larger] = /8|big|num|dec/i.test(type)
        ? ["9007199254740992", "9007199254740993"]
        : ["9", "10"];
      const reader = await readerOf(await customers(type, ["c", larger], ["b", large], ["a", "-3"]));
      const newest = await reader.newest();
      expect(newest?.before).toBe(newest?.value);
      const rows = await reader.rows(null, 10);
      expect(idsOf(rows)).toEqual(["a", "b", "c"]);
      expect(rows.at(-1)?.value).toBe(newest?.value);
      for (const [n, { value }] of rows.entries()) {
        expect(idsOf(await reader.rows({ value, isIncluded: true }, 10))).toEqual(["a", "b", "c"].slice(n));
        expect(idsOf(await reader.rows({ value, isIncluded: false }, 10))).toEqual(
          ["a", "b", "c"].slice(n + 1),
        );
      }
    });

    test("gives no more rows than asked for, those with the lowest values first", async () => {
      const number = words.numbers[0] ?? "";
      const reader = await readerOf(await customers(number, ["c", "3"], ["a", "1"], ["b", "2"]));
      expect(idsOf(await reader.rows(null, 2))).toEqual(["a", "b"]);
    });

    test("leaves out what is far ahead of the database's clock", async () => {
      const near = MOST_AHEAD_MS / 1_000 - 5;
      const zoned = await readerOf(
        await customers(
          words.zoned,
          ["now", words.now(0)],
          ["near", words.now(near)],
          ["far", words.now(600)],
        ),
      );
      expect(await all(zoned)).toEqual(["now", "near"]);
      expect((await zoned.newest())?.value).toBe((await zoned.rows(null, 10)).at(-1)?.value);
    });

    test("without a time zone counts what is now in any time zone", async () => {
      const rows = [
        ["now", words.utcNow(0)],
        ["line islands", words.utcNow(14 * 3_600)],
        ["tomorrow", words.utcNow(24 * 3_600)],
        ["end of time", time("9999-12-31 00:00:00")],
      ] as const;
      expect(await all(await readerOf(await customers(words.naive, ...rows)))).toEqual([
        "now",
        "line islands",
      ]);
    });

    test("tells two versions of a row apart by the columns of its group alone", async () => {
      const database = await customers(words.zoned, ["a", time("2026-03-01 12:00:00")]);
      const reader = await readerOf(database);
      const digest = async () => (await reader.rows(null, 10))[0]?.digest;
      const first = await digest();
      await database.execute("UPDATE customers SET other = 2, changed = changed");
      expect(await digest()).toBe(first);
      await database.execute("UPDATE customers SET name = 'Another', changed = changed");
      expect(await digest()).not.toBe(first);
    });

    test("gives the rows of tenants, also of removed ones; the newest value is that of all rows", async () => {
      const number = words.numbers[0] ?? "";
      const database = await customers(number, ["a", "1"], ["b", "2"], ["c", "3"], ["d", "4"]);
      const reader = await readerOf(database, { where: "id <> 'd'", removedWhen: "id = 'b'" });
      expect(await all(reader)).toEqual(["a", "b", "c"]);
      expect((await reader.newest())?.value).toBe("4");
    });

    test("gives a row without an id", async () => {
      const number = words.numbers[0] ?? "";
      const database = await customers(number);
      await database.execute("INSERT INTO customers VALUES (NULL, 'A', 1, 1)");
      expect(await all(await readerOf(database))).toEqual([null]);
    });

    test("may be a query's, by any name, whatever the query ends with", async () => {
      const number = words.numbers[0] ?? "";
      const database = await customers(number, ["a", "1"], ["b", "2"]);
      const query = "SELECT id AS groupsync, name, changed AS version FROM customers -- all of them";
      const settings = { query, changeColumn: "version", columns: ["groupsync", "name"] };
      const reader = await readerOf(database, settings);
      expect(await all(reader)).toEqual(["a", "b"]);
      expect(await reader.newest()).toEqual({ value: "2", before: "2" });
    });

    test("sees in each look what is committed then, and keeps no transaction open", async () => {
      const number = words.numbers[0] ?? "";
      const database = await customers(number, ["a", "1"]);
      const reader = await readerOf(database);
      expect(await all(reader)).toEqual(["a"]);
      await expect.poll(() => database.openTransactions()).toBe(0);
      await database.execute("INSERT INTO customers VALUES ('b', 'B', 1, 2)");
      expect(await all(reader)).toEqual(["a", "b"]);
      await expect.poll(() => database.openTransactions()).toBe(0);
    });

    test.each([
      ["a time", (kinds: FeedWords) => kinds.zoned],
      ["a number", (kinds: FeedWords) => kinds.numbers[0] ?? ""],
    ])("knows whether %s has an index, and which one helps", async (_, typeOf) => {
      const type = typeOf(words);
      const database = await manyCustomers(type);
      const reader = await readerOf(database);
      const newest = await reader.newest();
      const from = newest && { value: newest.value, isIncluded: true };
      expect(await reader.missingIndex(from)).toMatch(
        /^create an index on the column .changed. of .*customers/,
      );
      await database.execute(words.index("customers", "changed"));
      expect(await reader.missingIndex(from)).toBeNull();
      expect(await reader.missingIndex(newest && { value: newest.value, isIncluded: false })).toBeNull();
    });

    test("knows whether a query lets the condition through to the index", async () => {
      const number = words.numbers[0] ?? "";
      const database = await manyCustomers(number);
      await database.execute(words.index("customers", "changed"));
      const from = { value: "4990", isIncluded: true };
      const simple = await readerOf(database, {
        query: "SELECT id, name, changed FROM customers WHERE other = 1",
      });
      expect(await simple.missingIndex(from)).toBeNull();
      const limited = await readerOf(database, {
        query: "SELECT id, name, changed FROM customers ORDER BY name LIMIT 4000",
      });
      expect(await limited.missingIndex(from)).toContain("source.query");
    });

    test.each(words.wrong)("can't be of type %s", async (type) => {
      const database = await customers(type);
      await expect(readerOf(database)).rejects.toMatchObject({
        code: "CONFIG_COLUMNS",
        message: "source.changes.column: the type of column changed doesn't tell which row is newer",
        hint: expect.stringMatching(/timestamp/i),
      });
      await expect.poll(() => database.openTransactions()).toBe(0);
    });

    test("has to be there", async () => {
      const database = await customers(words.zoned);
      await expect(readerOf(database, { changeColumn: "updated" })).rejects.toMatchObject({
        code: "CONFIG_COLUMNS",
        message: "source.changes.column: customers has no column updated",
        hint: expect.stringContaining("id, name, other, changed"),
      });
    });

    test("rejects if its connection is cut, and can be opened again", async () => {
      const number = words.numbers[0] ?? "";
      const database = await customers(number, ["a", "1"]);
      const feed = database.feed({ table: "customers" });
      const reader = await open(feed);
      await database.cut();
      await expect(reader.rows(null, 10)).rejects.toMatchObject({ code: "SOURCE_UNAVAILABLE" });
      await reader.close();
      expect(await all(await open(feed))).toEqual(["a"]);
    });

    test("rejects once it is told to stop", async () => {
      const database = await customers(words.zoned);
      const stop = new AbortController();
      const reader = await database.feed({ table: "customers" }).open(stop.signal);
      stop.abort();
      await expect(reader.rows(null, 10)).rejects.toMatchObject({ code: "INTERRUPTED" });
      await reader.close();
    });

    test("reads no other table than before", async () => {
      const database = await customers(words.zoned);
      const opening = database.feed({ table: "customers" }).open(NEVER, "elsewhere.customers");
      await expect(opening).rejects.toMatchObject({ code: "CONFIG_TABLE_MOVED" });
    });
  });

  /** Enough rows for an index to be worth it. A time or a number in each of them. */
  async function manyCustomers(type: string): Promise<FeedDatabase> {
    const database = await customers(type);
    const isTime = [words.zoned, words.naive].includes(type);
    const rows = Array.from({ length: 5_000 }, (_, n) => {
      const value = isTime
        ? time(new Date(Date.UTC(2026, 0, 1) + n * 60_000).toISOString().slice(0, 19).replace("T", " "))
        : n;
      return `('c${n}', 'Name', 1, ${value})`;
    });
    await database.execute(`INSERT INTO customers VALUES ${rows.join(", ")}`);
    await database.execute(name === "PostgreSQL" ? "ANALYZE customers" : "ANALYZE TABLE customers");
    return database;
  }
}
