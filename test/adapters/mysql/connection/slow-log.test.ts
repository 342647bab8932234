import { expect, test } from "vitest";
import { aTalkativeServer, canTalk } from "../../../support/servers/talkative-server.ts";
import { aDatabase } from "../../sql/ledger/ledger-database.ts";
import { everyTokenStatement } from "../../sql/tokens/token-acts.ts";

test.skipIf(!canTalk("mysql"))(
  "no token gets into the slow log, with the documented rights alone",
  async () => {
    const { database, asAdministrator, logged } = await aTalkativeServer("mysql");
    const tokens = await everyTokenStatement(aDatabase(database.url, "mysql"));
    // As a statement would be of whoever leaves the session as the server wants it.
    await asAdministrator(`SELECT '${tokens[0]}'`);
    const entries = await logged();
    expect(entries.filter((entry) => tokens.some((token) => entry.includes(token)))).toEqual([
      `SELECT '${tokens[0]}'`,
    ]);
  },
);
