import { expect, inject, test } from "vitest";
import { type Cell, Unusable } from "../../../../src/core/group/tenant.ts";
import { COLUMN_LINES, type Example } from "../../../contracts/column-values.ts";
import { readAll, rowsOf } from "../../../contracts/rows-of.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { isMariadb } from "../../../support/mysql/is-mariadb.ts";
import { pageText } from "../../../support/pages.ts";
import { SOURCES } from "./source-database.ts";

const kind = inject("databaseKind");
/** Dates that are none can be there since before a server became strict. */
const LENIENT = { postgres: "", mysql: "SET SESSION sql_mode = 'ALLOW_INVALID_DATES';" }[kind];

test.each(COLUMN_LINES.map((line) => [line.types[kind], line] as const))("%s", async (_, line) => {
  const { url, query } = await freshDatabase();
  const more = (await isMariadb(query)) ? (line.mariadb ?? []) : [];
  const examples = [...line.examples[kind], ...more];
  const columns = examples.map((_, index) => `v${index}`);
  const types = examples.map(([type], index) => `v${index} ${type}`);
  await query(`${LENIENT} CREATE TABLE customers (id varchar(9), ${types.join(", ")})`);
  const literals = examples.map(([, literal]) => literal);
  await query(`${LENIENT} INSERT INTO customers VALUES ('a', ${literals.join(", ")})`);
  await query("INSERT INTO customers (id) VALUES ('b')");
  const [a, b] = await rowsOf(SOURCES[kind](url, { table: "customers" }), ["id", ...columns]);
  expect(b).toEqual(["b", ...examples.map(() => null)]);
  const found = examples.map(([type, literal], index) => [type, literal, shown(a?.[index + 1] ?? null)]);
  expect(found).toEqual(
    examples.map(([type, literal, becomes]) => [
      type,
      literal,
      isRejected(becomes) ? { rejected: expect.stringContaining(becomes.rejected) } : becomes,
    ]),
  );
});

test("docs/rows.md says so", () => {
  const page = pageText("docs/rows.md");
  const [, table] =
    /^\| PostgreSQL \| MySQL, MariaDB \| JSON \|\n\|---\|---\|---\|\n((?:\|.*\n)+)/m.exec(page) ?? [];
  const lines = COLUMN_LINES.map(({ types, json }) => `| ${types.postgres} | ${types.mysql} | ${json} |`);
  expect(table?.trimEnd().split("\n")).toEqual(lines);
});

const RETYPED = {
  postgres: {
    types: [
      ["text", "integer", "1"],
      ["text", "boolean", "t"],
      ["text", "jsonb", '{"a": 1}'],
      ["text[]", "integer[]", "{1,2}"],
    ],
    alter: (type: string) => `ALTER plan TYPE ${type} USING plan::${type}`,
  },
  mysql: {
    types: [
      ["varchar(9)", "int", "1"],
      ["int", "boolean", "1"],
      ["longtext", "json", '{"a": 1}'],
      ["varchar(10)", "date", "2026-03-01"],
    ],
    alter: (type: string) => `MODIFY plan ${type}`,
  },
};
const { types, alter } = RETYPED[kind];

test.each(types)(
  "a value that becomes another by its column's type, from %s to %s, gets another digest",
  async (before, after, value) => {
    const { url, query } = await freshDatabase();
    const digest = async () =>
      (await readAll(SOURCES[kind](url, { table: "customers" }), ["id", "plan"])).rows[0]?.digest;
    await query(`CREATE TABLE customers (id varchar(9), plan ${before})`);
    await query("INSERT INTO customers VALUES ('a', $1)", [value]);
    const old = await digest();
    await query(`ALTER TABLE customers ${alter(after ?? "")}`);
    const now = await digest();
    expect(now?.digest).not.toBe(old?.digest);
    expect(now?.bucket).toBe(old?.bucket);
  },
);

const shown = (cell: Cell): Example[2] => (cell instanceof Unusable ? { rejected: cell.reason } : cell);

const isRejected = (becomes: Example[2]): becomes is { rejected: string } =>
  typeof becomes === "object" && becomes !== null && "rejected" in becomes;
