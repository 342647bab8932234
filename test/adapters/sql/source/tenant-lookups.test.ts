import { expect, inject, test } from "vitest";
import { compareIds } from "../../../../src/core/group/tenant.ts";
import { lookupsOf } from "../../../contracts/lookups.ts";
import { readAll } from "../../../contracts/rows-of.ts";
import {
  type DatabaseKind,
  type FreshDatabase,
  freshDatabase,
} from "../../../support/databases/fresh-database.ts";
import { lockTable } from "../../../support/databases/table-lock.ts";
import { isMariadb } from "../../../support/mysql/is-mariadb.ts";
import { tcpProxy } from "../../../support/servers/tcp-proxy.ts";
import { endWithSilentHost } from "../connection/silent-host.ts";
import { SOURCES } from "./source-database.ts";

const kind = inject("databaseKind");

interface IdType {
  readonly type: string;
  /** What is inserted. */
  readonly ids: readonly string[];
  /** Ids of no row that the column takes for the same, or can't hold. */
  readonly others: readonly string[];
  /** Statements that make the type. */
  readonly setUp?: readonly string[];
  readonly needs?: "citext" | "MariaDB";
}

const UUIDS = ["b0000000-0000-0000-0000-000000000000", "a0000000-0000-0000-0000-000000000000"];
const NO_UUIDS = ["B0000000-0000-0000-0000-000000000000", "b0000000000000000000000000000000", "b", "", "{}"];

/** What a comparison of numbers may take for 9, or for the next number, and what is none. */
const NO_BIGINTS = [
  ...["9007199254740992", "9223372036854775808", "-9223372036854775809", "1".repeat(40)],
  ...["a", "9a", "09", "+9", "9.0", " 9", "9 ", "9e0", "0x9", "-0", "", "\0"],
];

const TYPES: Readonly<Record<DatabaseKind, readonly IdType[]>> = {
  postgres: [
    { type: "text", ids: ["b", "a", "B"], others: ["A", "b "] },
    { type: 'text COLLATE "und-x-icu"', ids: ["b", "ä", "a"], others: ["A", "a\u0308"] },
    {
      type: "text COLLATE ignoring",
      ids: ["b", "B", "a", "ä"],
      others: ["A", "a\u0308"],
      setUp: [
        "CREATE COLLATION ignoring (provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
      ],
    },
    { type: "varchar(3)", ids: ["b", "a", "B"], others: ["A", "b "] },
    { type: "char(3)", ids: ["b", "a\t"], others: ["a", "b  ", "b ", "B"] },
    { type: "name", ids: ["b", "a"], others: ["A", `b${"x".repeat(80)}`] },
    { type: "smallint", ids: ["9", "10", "-1"], others: ["32768", "09", "a"] },
    { type: "integer", ids: ["9", "10", "-1"], others: ["2147483648", "09", "a"] },
    { type: "bigint", ids: ["9", "10", "-9223372036854775808"], others: NO_BIGINTS },
    { type: "uuid", ids: UUIDS, others: NO_UUIDS },
    {
      type: "customer_id",
      ids: ["b", "a"],
      others: ["", "A", "x".repeat(11)],
      setUp: ["CREATE DOMAIN customer_id AS varchar(10) CHECK (VALUE <> '')"],
    },
    {
      type: "customer_number",
      ids: ["9", "10"],
      others: ["-1", "a"],
      setUp: ["CREATE DOMAIN customer_number AS integer CHECK (VALUE > 0)"],
    },
    {
      type: '"Odd Place".citext',
      ids: ["b", "B", "a"],
      others: ["A", "b "],
      setUp: ['CREATE SCHEMA "Odd Place"', 'CREATE EXTENSION citext SCHEMA "Odd Place"'],
      needs: "citext",
    },
  ],
  mysql: [
    { type: "varchar(9)", ids: ["b", "a", "B", "a "], others: ["A", "á", "b "] },
    { type: "varchar(9) collate utf8mb4_general_ci", ids: ["b", "a", "B", "á", "a "], others: ["A", "b "] },
    { type: "varchar(9) collate utf8mb4_bin", ids: ["b", "a\t", "a ", "a"], others: ["A", "b "] },
    { type: "varchar(9) character set latin1", ids: ["ÿ", "é", "z", "?"], others: ["日", "É", "e"] },
    { type: "varchar(9) character set latin1 collate latin1_bin", ids: ["é", "?"], others: ["日", "É"] },
    { type: "varchar(9) character set utf8mb3", ids: ["é", "?", "日"], others: ["😀", "É"] },
    { type: "varchar(9) character set utf16", ids: ["\u{10000}", "\uffff", "a"], others: ["A"] },
    { type: "varchar(9) character set cp1251", ids: ["я", "a", "Ж"], others: ["é", "ж"] },
    { type: "char(3)", ids: ["b", "a\t"], others: ["a", "b ", "B"] },
    { type: "longtext", ids: ["b", "a\0b", "a\0"], others: ["A", "a", "b "] },
    { type: "tinyint", ids: ["9", "10", "-1"], others: ["128", "09", "a"] },
    { type: "smallint unsigned", ids: ["9", "10", "65535"], others: ["-1", "65536"] },
    { type: "mediumint", ids: ["9", "10", "-8388608"], others: ["8388608", "-8388609"] },
    { type: "int(8) zerofill", ids: ["9", "10"], others: ["00000009", "-9"] },
    { type: "bigint", ids: ["9", "9007199254740993", "-9223372036854775808"], others: NO_BIGINTS },
    {
      type: "bigint unsigned",
      ids: ["9", "18446744073709551615", "18446744073709551613"],
      others: ["18446744073709551614", "18446744073709551616", "-1"],
    },
    { type: "uuid", ids: UUIDS, others: NO_UUIDS, needs: "MariaDB" },
  ],
};

const ANALYZE: Readonly<Record<DatabaseKind, string>> = {
  postgres: "ANALYZE customers",
  mysql: "ANALYZE TABLE customers",
};

async function lacks({ needs }: IdType, { query }: FreshDatabase): Promise<boolean> {
  if (needs === "MariaDB") return !(await isMariadb(query));
  if (needs === undefined) return false;
  return (await query("SELECT 1 FROM pg_available_extensions WHERE name = 'citext'")).length === 0;
}

test.each(TYPES[kind].map((type) => [type.type, type] as const))(
  "an id column of type %s is read in the order of bytes, and looked up by its index and by its exact text",
  async (_, wanted) => {
    const { type, ids, others, setUp = [] } = wanted;
    const database = await freshDatabase();
    if (await lacks(wanted, database)) return;
    for (const statement of setUp) await database.query(statement);
    await database.query(`CREATE TABLE customers (id ${type}, name varchar(9))`);
    const indexed = type === "longtext" ? "id(9)" : "id";
    await database.query(`CREATE INDEX customers_by_id ON customers (${indexed})`);
    for (const id of ids) await database.query("INSERT INTO customers VALUES ($1, 'A')", [id]);
    // The planner learns that the table is small: it would rather read it whole.
    await database.query(ANALYZE[kind]);

    const source = SOURCES[kind](database.url, { table: "customers" });
    const lookups = await lookupsOf(source);
    expect(lookups.isIndexed).toBe(true);
    const { rows } = await readAll(source, ["id", "name"]);
    const found = rows.map(({ cells }) => cells[0] as string);
    expect(found).toEqual(ids.toSorted(compareIds));
    for (const [index, id] of found.entries()) expect(await lookups.rowsOf([id])).toEqual([rows[index]]);
    for (const other of others) expect(await lookups.rowsOf([other])).toEqual([]);
    expect(await lookups.rowsOf([...others, ...found])).toEqual(rows);
  },
);

test.each([
  [20, true],
  [30_000, false],
])("a look that reads a joined table of %i rows whole counts as indexed: %s", async (rows, isIndexed) => {
  const database = await customers();
  await database.query("CREATE TABLE plans (code varchar(40), title varchar(40))");
  for (let from = 0; from < rows; from += 5_000) {
    const codes = Array.from({ length: Math.min(rows, 5_000) }, (_, n) => `('${from + n}', 'Title')`);
    await database.query(`INSERT INTO plans VALUES ${codes.join(", ")}`);
  }
  await database.query(ANALYZE[kind].replace("customers", "plans"));
  const query = "SELECT c.id, p.title FROM customers AS c LEFT JOIN plans AS p ON p.code = c.name";
  const lookups = await lookupsOf(SOURCES[kind](database.url, { query }), ["id", "title"]);
  expect(lookups.isIndexed).toBe(isIndexed);
  expect((await lookups.rowsOf(["a"])).map(({ cells }) => cells)).toEqual([["a", null]]);
});

async function customers(): Promise<FreshDatabase> {
  const database = await freshDatabase();
  await database.query("CREATE TABLE customers (id varchar(40) PRIMARY KEY, name varchar(40))");
  await database.query("INSERT INTO customers VALUES ('a', 'A'), ('b', 'B')");
  return database;
}

/** Through a line that can be cut; one look was good. */
async function lookupsOverALine() {
  const line = await tcpProxy((await customers()).url);
  const lookups = await lookupsOf(SOURCES[kind](line.url, { table: "customers" }));
  expect(await lookups.rowsOf(["a"])).toHaveLength(1);
  return { line, lookups };
}

test("a look after the connection broke opens another", async () => {
  const { line, lookups } = await lookupsOverALine();
  for (let cut = 0; cut < 3; cut++) {
    line.limit(0);
    await expect(lookups.rowsOf(["a"])).rejects.toMatchObject({ code: "SOURCE_UNAVAILABLE" });
    line.limit(Number.POSITIVE_INFINITY);
    expect(await lookups.rowsOf(["a"])).toHaveLength(1);
  }
});

test("a look gives up on a locked table after a while, and the next look finds it free", async () => {
  const database = await customers();
  const timeouts = { lockMs: 4_000, silenceMs: 600_000 };
  const lookups = await lookupsOf(SOURCES[kind](database.url, { table: "customers" }, timeouts));
  const lock = await lockTable(database, "customers");
  await expect(lookups.rowsOf(["a"])).rejects.toMatchObject({
    code: "SOURCE_UNAVAILABLE",
    message: expect.stringContaining(`session ${lock.session}`),
  });
  await lock.release();
  await expect.poll(async () => (await lookups.rowsOf(["a"]).catch(() => [])).length).toBe(1);
});

test("a look ends after a minute if the host has gone since the last one", async () => {
  const { line, lookups } = await lookupsOverALine();
  const ended = await endWithSilentHost(line, () => lookups.rowsOf(["a"]));
  expect(ended).toMatchObject({
    code: "SOURCE_UNAVAILABLE",
    message: expect.stringContaining("has not answered for 60 s"),
  });
});
