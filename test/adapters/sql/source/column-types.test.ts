import { expect, inject, test } from "vitest";
import { type Cell, Unusable } from "../../../../src/core/group/tenant.ts";
import { COLUMN_LINES, type Example } from "../../../contracts/column-values.ts";
import { rowsOf } from "../../../contracts/rows-of.ts";
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
  const found: Example[] = [];
  const examples = [...line.examples[kind], ...more];
  for (const [index, [type, literal]] of examples.entries()) {
    await query(`${LENIENT} CREATE TABLE t${index} (id varchar(9), value ${type})`);
    await query(`${LENIENT} INSERT INTO t${index} VALUES ('a', ${literal}), ('b', NULL)`);
    const rows = await rowsOf(SOURCES[kind](url, { table: `t${index}` }), ["id", "value"]);
    expect(rows[1]).toEqual(["b", null]);
    found.push([type, literal, shown(rows[0]?.[1] ?? null)]);
  }
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

const shown = (cell: Cell): Example[2] => (cell instanceof Unusable ? { rejected: cell.reason } : cell);

const isRejected = (becomes: Example[2]): becomes is { rejected: string } =>
  typeof becomes === "object" && becomes !== null && "rejected" in becomes;
