import { expect, test } from "vitest";
import { leaseOf } from "../../../contracts/ledger/rig.ts";
import { ledgerDatabase } from "./ledger-database.ts";
import { preparedLedgerDatabase } from "./prepared-database.ts";

const LEFT = [
  "CREATE TABLE customers (id integer)",
  "CREATE VIEW customers AS SELECT 1 AS one",
  "CREATE TABLE customers AS SELECT 1 AS one; CREATE VIEW shown AS SELECT * FROM customers",
  "DROP TABLE groupsync_leases",
  "ALTER TABLE groupsync_groups ADD COLUMN odd integer",
  "DELETE FROM groupsync_migrations",
  "UPDATE groupsync_identity SET id = 'another'",
];

test.each(LEFT)("what a test does to a prepared database ends with it: %s", async (statement) => {
  const { query, ledger } = await preparedLedgerDatabase();
  await leaseOf(ledger());
  await query(statement);
});

test("the prepared databases of the next test are as new ones are", async () => {
  const asNew = await ledgerDatabase();
  await asNew.ledger().prepare();
  const withoutIdAndTimes = (text: string): string =>
    text.replace(/[\da-f]{8}-[\da-f-]{27}/g, "id").replace(/\d{4}-\d\d-\d\d[T ][\d:.]+(\+\d\d|Z)?/g, "time");
  const expected = withoutIdAndTimes(await asNew.dump());
  for (let count = 0; count <= LEFT.length; count++) {
    const prepared = await preparedLedgerDatabase();
    expect(withoutIdAndTimes(await prepared.dump())).toBe(expected);
    await prepared.query("SELECT odd FROM groupsync_groups").then(
      () => expect.unreachable(),
      (error: Error) => expect(error.message).toContain("odd"),
    );
  }
});
