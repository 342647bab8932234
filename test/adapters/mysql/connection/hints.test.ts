import { expect, test } from "vitest";
import { failures } from "../../../../src/adapters/mysql/connection/failures.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";

test.each([
  [1047, "08S01", "WSREP has not yet prepared node for application use", /Galera/],
  [1290, "HY000", "The server is running with the --read-only option", /replica/],
  [1792, "25006", "Cannot execute statement in a READ ONLY transaction", /replica/],
  [1836, "HY000", "Running in read-only mode", /replica/],
])("error %i of a server has a hint, and concerns the whole database", async (number, state, text, hint) => {
  const { query } = await freshDatabase("mysql");
  const error: unknown = await query(
    `SIGNAL SQLSTATE '${state}' SET MYSQL_ERRNO = ${number}, MESSAGE_TEXT = '${text}'`,
  ).catch((thrown: unknown) => thrown);
  expect(failures.hintFor(error)).toMatch(hint);
  expect(failures.isGeneral(error)).toBe(true);
});
