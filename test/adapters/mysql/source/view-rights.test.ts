import { expect, test } from "vitest";
import { NEVER } from "../../../contracts/rows-of.ts";
import { aRole } from "../../../support/databases/role.ts";
import { mysqlSource, mysqlSourceDatabase } from "./source-database.ts";

test("single tenants of a view are found by the index for a user that may explain it, as docs/new-tenants.md says", async () => {
  const database = await mysqlSourceDatabase();
  const { query } = database;
  await query("CREATE TABLE customers (id varchar(40) PRIMARY KEY, name text)");
  await query("INSERT INTO customers VALUES ('a', 'Acme'), ('b', 'Brill')");
  await query("CREATE VIEW active_customers AS SELECT * FROM customers WHERE name <> 'Brill'");
  const reader = await aRole(database);
  await query(`REVOKE SHOW VIEW ON ${database.name}.* FROM ${reader.name}`);
  const looksByIndex = async (): Promise<boolean> => {
    const source = mysqlSource(reader.url, { table: "active_customers" });
    const lookUps = await source.lookUps(["id", "name"], "seed", NEVER);
    try {
      expect((await lookUps.rowsOf(["a", "b"])).map(({ cells }) => cells)).toEqual([["a", "Acme"]]);
      return lookUps.isIndexed;
    } finally {
      await lookUps.close();
    }
  };
  await query(`GRANT SELECT ON active_customers TO ${reader.name}`);
  expect(await looksByIndex()).toBe(false);
  await query(`GRANT SELECT, SHOW VIEW ON active_customers TO ${reader.name}`);
  expect(await looksByIndex()).toBe(false);
  await query(`GRANT SELECT ON customers TO ${reader.name}`);
  expect(await looksByIndex()).toBe(true);
  await query(`REVOKE SHOW VIEW ON active_customers FROM ${reader.name}`);
  expect(await looksByIndex()).toBe(false);
});
