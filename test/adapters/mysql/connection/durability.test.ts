import { expect, test } from "vitest";
import { durabilityRisks } from "../../../../src/adapters/mysql/connection/durability.ts";

const FLUSH = "innodb_flush_log_at_trx_commit";

/** Some servers return their settings as text. */
test.each([
  [{ flush: 1, sync: 1, isLogged: 1 }, []],
  [{ flush: "1", sync: "0", isLogged: "0" }, []],
  [{ flush: 0, sync: 1, isLogged: 1 }, [`${FLUSH} = 0`]],
  [{ flush: "2", sync: "1", isLogged: "1" }, [`${FLUSH} = 2`]],
  [{ flush: 1, sync: 0, isLogged: 1 }, ["sync_binlog = 0"]],
  [{ flush: 2, sync: 100, isLogged: 1 }, [`${FLUSH} = 2`, "sync_binlog = 100"]],
])("of %o, a crash takes commits back by %o", async (settings, risky) => {
  const query = async <Row>(): Promise<Row[]> => [settings as Row];
  const risks = await durabilityRisks({ query });
  expect(risks.map(({ setting }) => setting)).toEqual(risky);
});
