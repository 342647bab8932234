import { once } from "node:events";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { postgresStatements } from "../../../src/core/setup/postgres-statements.ts";
import { aColumn, aTable } from "../../builders/catalog.ts";
import { aSetup } from "../../core/setup/a-setup.ts";
import { freshDatabase } from "../../support/databases/fresh-database.ts";

/** The part of groupsync.sql that makes no roles. */
const trigger = (statements: string): string =>
  /^CREATE OR REPLACE FUNCTION .*(?=^COMMIT;)/ms.exec(statements)?.[0] ?? "";

test.each([
  ["a table", ""],
  ["a partitioned table", "PARTITION BY HASH (found)"],
])("the trigger of groupsync.sql names each new and changed tenant of %s", async (_, partitions) => {
  const database = await freshDatabase("postgres");
  await database.query(`CREATE TABLE customers (found int PRIMARY KEY, name text) ${partitions}`);
  if (partitions !== "") {
    await database.query(
      "CREATE TABLE only_one PARTITION OF customers FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
    );
  }
  // Every function has a variable of this name.
  const id = aColumn("found", { key: "primary", kind: "integer" });
  const table = aTable("customers", [], { columns: [id, aColumn("name")] });
  await database.query(trigger(postgresStatements(aSetup(table))));

  const listener = new pg.Client(database.url);
  onTestFinished(() => listener.end());
  await listener.connect();
  await listener.query("LISTEN customers_changed");
  const heard: (string | undefined)[] = [];
  listener.on("notification", ({ payload }) => heard.push(payload));
  const hears = async (count: number): Promise<void> => {
    while (heard.length < count) await once(listener, "notification");
  };
  await database.query("INSERT INTO customers SELECT n, 'x' FROM generate_series(1, 3) AS n");
  await hears(3);
  await database.query("UPDATE customers SET name = 'y' WHERE found = 2");
  await hears(4);
  await database.query("INSERT INTO customers SELECT n FROM generate_series(11, 120) AS n");
  await hears(5);
  expect(heard).toEqual(["1", "2", "3", "2", ""]);
});
