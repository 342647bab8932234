import { expect, onTestFinished, test } from "vitest";
import { rowsOf } from "../../contracts/rows-of.ts";
import { startMariadb } from "../../support/embedded-mariadb.ts";
import { SERVERS } from "../../support/fresh-database.ts";
import { mariadbPrograms } from "../../support/mariadb-binaries.ts";
import { APPLICATION, mysqlSource } from "./source-database.ts";

/** Where there is none, the global setup says so aloud. */
const isThere = await mariadbPrograms().then(
  () => true,
  () => false,
);

/** Each of them would change what comes, or how much of it. */
const ODD_SETTINGS = [
  "sql_mode = 'PAD_CHAR_TO_FULL_LENGTH,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE,ANSI'",
  "time_zone = '+05:45'",
  "sql_select_limit = 2",
  "max_join_size = 1",
  "max_sort_length = 64",
  "net_write_timeout = 1",
];

test.skipIf(!isThere)("the server's own settings change nothing", async () => {
  const server = await startMariadb({
    settings: {
      character_set_server: "latin1",
      skip_character_set_client_handshake: "1",
      performance_schema: "1",
    },
  });
  onTestFinished(server.stop);
  const { query, end } = SERVERS.mysql.connect(server.url);
  onTestFinished(end);
  for (const setting of ODD_SETTINGS) await query(`SET GLOBAL ${setting}`);
  await query("SET NAMES utf8mb4");
  await query("CREATE DATABASE odd CHARACTER SET utf8mb4");
  await query(
    `CREATE TABLE odd.customers (id varchar(40), c char(9), t timestamp NULL, name text) ENGINE = InnoDB`,
  );
  await query(`INSERT INTO odd.customers VALUES
    ('tenant-b', 'it''s \\\\', '2026-03-01 09:30:00', NULL), ('tenant-c', NULL, NULL, 'Größe 😀'),
    ('tenant-a', '', NULL, ''), ('Tenant-a', 'c', NULL, 'NULL')`);

  const url = `${server.url}odd`;
  const rows = await rowsOf(mysqlSource(url, { table: "customers" }), ["id", "c", "t", "name"]);
  expect(rows).toEqual([
    ["Tenant-a", "c", null, "NULL"],
    ["tenant-a", "", null, ""],
    ["tenant-b", "it's \\", "2026-03-01T09:30:00.000Z", null],
    ["tenant-c", null, null, "Größe 😀"],
  ]);

  const long = "x".repeat(500);
  await query("CREATE TABLE odd.long_ids (id varchar(512))");
  await query("INSERT INTO odd.long_ids VALUES ($1), ($2), ($3)", [`${long}c`, `${long}a`, `${long}b`]);
  const ids = (await rowsOf(mysqlSource(url, { table: "long_ids" }), ["id"])).map(([id]) =>
    String(id).at(-1),
  );
  expect(ids).toEqual(["a", "b", "c"]);

  // The customer's own SQL is written for such a server.
  const options = { table: "customers", where: `"id" = 'tenant' || '-b'`, removedWhen: "NOT c IS NULL" };
  expect(await rowsOf(mysqlSource(url, options), ["id"])).toEqual([["tenant-b"]]);

  const session = `SELECT attr_value AS id, @@net_write_timeout AS patience
    FROM performance_schema.session_connect_attrs
    WHERE attr_name = 'program_name' AND processlist_id = connection_id()`;
  expect(await rowsOf(mysqlSource(url, { query: session }), ["id", "patience"])).toEqual([
    [APPLICATION, 3600],
  ]);
});
