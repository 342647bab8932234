import { expect, test } from "vitest";
import { SyncError } from "../../../../src/core/failure/sync-error.ts";
import { tokenFingerprint } from "../../../../src/core/group/group.ts";
import { noCounts } from "../../../../src/core/report/counts.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { aDelete, aDeleted, anApplied, anApply } from "../../../builders/groups.ts";
import { carryOut, NOW, opened, write } from "../../../contracts/ledger/rig.ts";
import { blocksIn, pageText } from "../../../support/pages.ts";
import { preparedLedgerDatabase } from "./prepared-database.ts";

const PAGE = "docs/internals.md";
const ID = "cus-1001";

test(`the statements in ${PAGE} erase a former tenant's id, and the ledger goes on`, async () => {
  const at = await opened(preparedLedgerDatabase);
  const made = (user_group_id: string, token: string) =>
    carryOut(at, { ...anApplied({ change: anApply({ user_group_id }) }), token: new Secret(token) });
  await made(ID, "ugt_1");
  await made("cus-1002", "ugt_2");
  await carryOut(at, aDeleted({ change: aDelete({ user_group_id: ID }) }));
  const error = new SyncError("SERVICE_UNAVAILABLE", `the last one was "${ID}"`);
  await write(at, async (to) => {
    const run = await to.startRun("sync", NOW);
    await to.finishRun(run, { outcome: "failed", counts: noCounts(), requests: 1, error }, NOW);
  });
  expect(await at.database.dump()).toContain(ID);

  const statements = blocksIn(pageText(PAGE), "sql").flatMap((sql) =>
    sql.trim().split(/;\s*/).filter(Boolean),
  );
  expect(statements.length).toBe(3);
  for (const statement of statements) await at.database.query(statement);
  expect(await at.database.dump()).not.toContain(ID);

  expect(await at.ledger.journalOf(ID)).toEqual({ removals: [], formerTokens: [] });
  expect(await at.ledger.journalSum(["delete"], NOW)).toMatchObject({ count: 0 });
  const [run] = await at.ledger.history(NOW, 1);
  expect(run?.result?.error).toEqual({ code: "SERVICE_UNAVAILABLE", message: "" });
  await made(ID, "ugt_3");
  await carryOut(at, aDeleted({ change: aDelete({ user_group_id: ID }) }));
  expect((await at.ledger.journalOf(ID)).formerTokens).toMatchObject([
    { fingerprint: tokenFingerprint(new Secret("ugt_3")) },
  ]);
});
