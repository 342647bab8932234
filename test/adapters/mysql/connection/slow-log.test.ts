import { connect, createServer } from "node:net";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aRole } from "../../../support/databases/role.ts";
import { listening } from "../../../support/servers/listening.ts";
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

test("a server that wants a privilege for the least number of rows, as MySQL 9.7 does, is no hindrance", async () => {
  const { url } = await aRole(await freshDatabase("mysql"));
  const asked = "min_examined_row_limit = 4294967295";
  let refused = 0;
  const { port } = await listening(
    createServer((client) => {
      const server = connect(Number(new URL(url).port), new URL(url).hostname);
      client.on("data", (chunk) => {
        const text = chunk.toString("latin1");
        if (text.includes(asked)) refused++;
        // Servers of today want a privilege for this one.
        server.write(text.replace(asked, "sql_log_bin = 0".padEnd(asked.length)), "latin1");
      });
      server.pipe(client).once("close", () => server.destroy());
    }),
  );
  const database = aDatabase(Object.assign(new URL(url), { port: String(port) }).href, "mysql");
  const read = "SELECT @@long_query_time AS seconds";
  expect(await database.query(read)).toMatchObject([{ seconds: 31_536_000 }]);
  expect(refused).toBe(1);
});
