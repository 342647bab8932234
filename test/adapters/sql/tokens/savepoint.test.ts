import { expect, test } from "vitest";
import { failures } from "../../../../src/adapters/mysql/connection/failures.ts";
import { mysql } from "../../../../src/adapters/mysql/dialect.ts";
import { togetherOrEach } from "../../../../src/adapters/sql/tokens/savepoint.ts";
import { rejection } from "../../../contracts/collect.ts";

const answer = (errno: number, message: string): Error =>
  Object.assign(new Error(message), { errno, sqlState: "HY000", fatal: false });

/** A connection whose transaction the server gives up over the row b, as `innodb_rollback_on_timeout` has it do. */
test("nothing follows in a transaction that the server has rolled back, because each statement would commit by itself", async () => {
  const said: string[] = [];
  let isOpen = true;
  const connection = {
    isLastAttempt: false,
    query: async (text: string) => {
      said.push(text);
      if (!isOpen) throw answer(1305, "SAVEPOINT groupsync does not exist");
      return [];
    },
  };
  const write = async (items: readonly string[]): Promise<readonly string[]> => {
    if (!items.includes("b")) return items;
    isOpen = false;
    throw answer(1205, "Lock wait timeout exceeded; try restarting transaction");
  };
  const savepoints = {
    dialect: { ...failures, savepoint: mysql.savepoint, lockWait: () => "" },
    connection,
  };
  const error = await rejection(togetherOrEach(savepoints, ["a", "b"], write, (item) => item));
  expect(error).toMatchObject({ name: "TransactionLost", message: expect.stringContaining("Lock wait") });
  expect(said).toEqual(["SAVEPOINT groupsync", "ROLLBACK TO SAVEPOINT groupsync"]);
});
