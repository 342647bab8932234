import { expect, test } from "vitest";
import type { RecordedOutcome } from "../../../../src/ports/ledger/groups.ts";
import { aGroup, anApplied, anApply } from "../../../builders/groups.ts";
import { begin, NOW, opened, write } from "../../../contracts/ledger/rig.ts";
import { preparedLedgerDatabase } from "./prepared-database.ts";

test("groups that are too large for one statement are recorded in one write", async () => {
  const at = await opened(preparedLedgerDatabase);
  // In a statement, each quote in a property takes eight characters; MariaDB takes 16 MB of them.
  const changes = Array.from({ length: 10 }, (_, n) => {
    const user_group_id = `t${n}`;
    return anApply({
      user_group_id,
      group: aGroup({ user_group_id, properties: { p: '"'.repeat(400_000) } }),
    });
  });
  await begin(at, ...changes);
  const outcomes = changes.map((change): RecordedOutcome => ({ outcome: anApplied({ change }) }));
  await write(at, (transaction) => transaction.record(outcomes, NOW));

  const ids = changes.map((change) => change.user_group_id);
  const confirmed = await at.ledger.confirmed(ids);
  expect(ids.map((id) => confirmed.get(id))).toEqual(changes.map(({ group }) => group));
});
