import { expect, onTestFinished, test } from "vitest";
import type { Change } from "../../../../src/core/plan/change.ts";
import { anApply } from "../../../builders/groups.ts";
import { collect } from "../../../contracts/collect.ts";
import { NOW, opened } from "../../../contracts/ledger/rig.ts";
import { type DatabaseKind, SERVERS } from "../../../support/databases/fresh-database.ts";
import { preparedLedgerDatabase } from "./prepared-database.ts";

/** What has the server give up the ledger's transaction, and not the other one. */
const STUBBORN: Readonly<Record<DatabaseKind, readonly string[]>> = {
  // Whoever has waited for so long looks for a deadlock, and gives up its own transaction.
  postgres: ["SET deadlock_timeout = '1min'", "BEGIN"],
  // The one that has changed fewer rows is given up.
  mysql: ["START TRANSACTION", "INSERT INTO heavy SELECT 1 FROM groupsync_groups"],
};

test("a write that the database rolls back because of a deadlock is repeated", async () => {
  const at = await opened(preparedLedgerDatabase);
  const { kind, url, query, untilBlocked } = at.database;
  const change = (id: string): Change => anApply({ user_group_id: id });
  await at.ledger.write(at.lease, (transaction) =>
    transaction.begin(["a", "b", ...Array.from({ length: 50 }, (_, n) => `c${n}`)].map(change), NOW),
  );
  await query("CREATE TABLE heavy (n int)");
  const other = SERVERS[kind].connect(url);
  onTestFinished(() => other.end());
  for (const statement of STUBBORN[kind]) await other.query(statement);
  const touch = (id: string) =>
    other.query(
      "UPDATE groupsync_groups SET held = 'touched' WHERE scope = 'default' AND user_group_id = $1",
      [id],
    );

  let attempts = 0;
  await touch("b");
  await at.ledger.write(at.lease, async (transaction) => {
    attempts++;
    await transaction.markReturned(["a"]);
    if (attempts === 1) {
      const blocked = touch("a").then(() => other.query("COMMIT"));
      onTestFinished(async () => void (await blocked));
      await untilBlocked();
    }
    await transaction.markReturned(["b"]);
  });
  expect(attempts).toBe(2);
  expect((await collect(at.ledger.groups())).flat()).toHaveLength(52);
});
