import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  aTalkativeServer,
  canTalk,
  type TalkativeServer,
} from "../../../support/servers/talkative-server.ts";
import { aDatabase } from "../../sql/ledger/ledger-database.ts";
import { everyTokenStatement } from "../../sql/tokens/token-acts.ts";

/** What docs/security.md has the administrator run. */
const [, DOCUMENTED = ""] =
  /^```sql\n((?:ALTER ROLE groupsync SET log_.*\n)+)```$/m.exec(
    readFileSync(new URL("../../../../docs/security.md", import.meta.url), "utf8"),
  ) ?? [];

/** The entries of the log that have one of the tokens that were used. */
async function entriesWithTokens({ database, logged }: TalkativeServer): Promise<readonly string[]> {
  const tokens = await everyTokenStatement(aDatabase(database.url, "postgres"));
  return (await logged()).filter((entry) => tokens.some((token) => entry.includes(token)));
}

describe.skipIf(!canTalk("postgres"))("a server that logs everything", () => {
  test("has tokens as parameters and in rows that fail, but never in a statement or with an error", async () => {
    const entries = await entriesWithTokens(await aTalkativeServer("postgres"));
    const kinds = new Set(entries.map((entry) => entry.replace(/ *(?:\$\d|\().*/s, "")));
    expect([...kinds].sort()).toEqual(["DETAIL:  Failing row contains", "DETAIL:  Parameters:"]);
  });

  test("is asked to do without for a transaction, and not for a session that others may get next", async () => {
    const { url } = (await aTalkativeServer("postgres")).database;
    const database = aDatabase(url, "postgres", { maxConnections: 1 });
    const setting = "SHOW log_parameter_max_length_on_error";
    const inside = await database.transaction(database.dialect.begin.write, ({ query }) => query(setting));
    expect(inside).toEqual([{ log_parameter_max_length_on_error: "0" }]);
    expect(await database.query(setting)).toEqual([{ log_parameter_max_length_on_error: "-1" }]);
  });

  test("has none with the settings that are documented", async () => {
    const server = await aTalkativeServer("postgres");
    expect(DOCUMENTED).toContain("log_error_verbosity");
    await server.asAdministrator(DOCUMENTED);
    expect(await entriesWithTokens(server)).toEqual([]);
  });
});
