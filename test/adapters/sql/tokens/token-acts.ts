import { randomBytes } from "node:crypto";
import type { Database } from "../../../../src/adapters/sql/dialect/database.ts";
import { sqlLedger } from "../../../../src/adapters/sql/ledger/ledger.ts";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import { leaseOf } from "../../../contracts/ledger/rig.ts";
import { someTokens } from "../../../contracts/token-store.ts";
import { HISTORY_MS, LOCATION } from "../ledger/ledger-database.ts";
import { OWN } from "./token-place.ts";

const aToken = (kind: "taken" | "refused"): string => `${kind}-${randomBytes(12).toString("hex")}`;

/** Has each statement that can have a token in it run, also in vain, with tokens that nobody else has. */
export async function everyTokenStatement(database: Database): Promise<readonly string[]> {
  const ledger = sqlLedger(database, LOCATION, "default", HISTORY_MS);
  await ledger.prepare();
  const store = new SqlTokenTable(database, OWN, ledger);
  await store.prepare();
  await database.byRolesPath.write(
    `ALTER TABLE ${OWN.table} ADD CONSTRAINT no_refused CHECK (token NOT LIKE 'refused%')`,
  );
  const lease = await leaseOf(ledger);
  const [a, b, c, d] = [aToken("taken"), aToken("refused"), aToken("taken"), aToken("refused")];
  const write = (tokens: Record<string, string>, rewrite = false) =>
    ledger.write(lease, (transaction) => store.write(someTokens(tokens), transaction, { rewrite }));

  await write({ a, b });
  await write({ a });
  await write({ a }, true);
  for (const token of someTokens({ c, d })) await store.writeAtOnce(token, lease);
  await store.read(["a", "b", "c", "d"]);
  await ledger.write(lease, (transaction) => store.remove(["a", "c"], transaction));
  await ledger.releaseLease(lease);
  await database.byRolesPath.write(`ALTER TABLE ${OWN.table} DROP CONSTRAINT no_refused`);
  return [a, b, c, d];
}
