import { expect, test } from "vitest";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { anApplied } from "../../../builders/groups.ts";
import { begun, ended } from "../../../builders/records.ts";
import { leaseOf, NOW } from "../../../contracts/ledger/rig.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aDatabase } from "../../sql/ledger/ledger-database.ts";
import { aLedgerWithTokens } from "../../sql/tokens/token-place.ts";

test("a token that the ledger knows of another group is not written at once", async () => {
  const { url } = await freshDatabase("postgres");
  const database = aDatabase(url, "postgres");
  const { ledger, tokens } = await aLedgerWithTokens(database);
  const lease = await leaseOf(ledger);
  const applied = anApplied({ token: new Secret("ugt_1") });
  const owner = applied.change.user_group_id;
  await ledger.write(lease, async (transaction) => {
    await transaction.change([begun(applied.change)], NOW);
    await transaction.change([ended(applied)], NOW);
  });
  const written = (id: string, token: string) =>
    tokens.writeAtOnce({ user_group_id: id, token: new Secret(token) }, lease);
  expect(await written("another", "ugt_1")).toBe(false);
  expect(await tokens.destinations[0]?.holdsAny()).toBe(false);
  expect(await written(owner, "ugt_1")).toBe(true);
  expect(await written("another", "ugt_2")).toBe(true);
});
