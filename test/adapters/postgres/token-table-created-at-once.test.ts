import { expect, onTestFinished, test } from "vitest";
import { Database } from "../../../src/adapters/postgres/database.ts";
import { PostgresTokenTable } from "../../../src/adapters/postgres/token-table.ts";
import { Secret } from "../../../src/core/secret.ts";
import { freshDatabase } from "../../support/fresh-database.ts";

test("programs that find the token table missing at the same moment create it once", async () => {
  const { url, query } = await freshDatabase();
  const database = new Database({ url: new Secret(url), applicationName: "test", maxConnections: 8 });
  onTestFinished(() => database.close());
  const options = { table: "tokens", rows: "own", idColumn: "id", tokenColumn: "token" } as const;
  await Promise.all(Array.from({ length: 8 }, () => new PostgresTokenTable(database, options).prepare()));
  expect(await query("SELECT to_regclass('tokens')::text AS table")).toEqual([{ table: "tokens" }]);
});
