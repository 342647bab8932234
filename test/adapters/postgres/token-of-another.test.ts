import { expect, test } from "vitest";
import { SqlLedger } from "../../../src/adapters/sql/ledger.ts";
import { SqlTokenTable } from "../../../src/adapters/sql/token-table.ts";
import { Secret } from "../../../src/core/secret.ts";
import { anApplied } from "../../builders/groups.ts";
import { leaseOf, NOW } from "../../contracts/ledger/rig.ts";
import { freshDatabase } from "../../support/fresh-database.ts";
import { aDatabase, HISTORY_MS, LOCATION } from "../sql/ledger-database.ts";
import { OWN } from "../sql/token-place.ts";

test("a token that the ledger knows of another group is not written at once", async () => {
  const { url } = await freshDatabase("postgres");
  const database = aDatabase(url, "postgres");
  const ledger = new SqlLedger(database, LOCATION, "default", HISTORY_MS);
  const tokens = new SqlTokenTable(database, OWN);
  await ledger.prepare();
  await tokens.prepare();
  const lease = await leaseOf(ledger);
  const applied = anApplied({ token: new Secret("ugt_1") });
  const owner = applied.change.user_group_id;
  await ledger.write(lease, async (transaction) => {
    await transaction.begin([applied.change], NOW);
    await transaction.record([{ outcome: applied }], NOW);
  });
  const written = (id: string, token: string) =>
    tokens.writeAtOnce({ user_group_id: id, token: new Secret(token) }, ledger, lease);
  expect(await written("another", "ugt_1")).toBe(false);
  expect(await tokens.holdsAny()).toBe(false);
  expect(await written(owner, "ugt_1")).toBe(true);
  expect(await written("another", "ugt_2")).toBe(true);
});
