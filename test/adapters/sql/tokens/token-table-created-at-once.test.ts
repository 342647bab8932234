import { expect, test } from "vitest";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aDatabase } from "../ledger/ledger-database.ts";

test("programs that find the token table missing at the same moment create it once", async () => {
  const { url, query } = await freshDatabase();
  const options = { table: "tokens", rows: "own", idColumn: "id", tokenColumn: "token" } as const;
  const programs = Array.from({ length: 8 }, () => new SqlTokenTable(aDatabase(url), options));
  await Promise.all(programs.map((program) => program.prepare()));
  expect(await query("SELECT * FROM tokens")).toEqual([]);
});
