import { expect, onTestFinished, test } from "vitest";
import { PostgresDatabase } from "../../../src/adapters/postgres/database.ts";
import { SqlTokenTable } from "../../../src/adapters/sql/token-table.ts";
import { Secret } from "../../../src/core/secret.ts";
import { freshDatabase } from "../../support/fresh-database.ts";

test("programs that find the token table missing at the same moment create it once", async () => {
  const { url, query } = await freshDatabase();
  const database = new PostgresDatabase({ url: new Secret(url), applicationName: "test", maxConnections: 8 });
  onTestFinished(() => database.close());
  const options = { table: "tokens", rows: "own", idColumn: "id", tokenColumn: "token" } as const;
  await Promise.all(Array.from({ length: 8 }, () => new SqlTokenTable(database, options).prepare()));
  expect(await query("SELECT to_regclass('tokens')::text AS table")).toEqual([{ table: "tokens" }]);
});
