import { expect, test } from "vitest";
import { sqlLedger } from "../../../../src/adapters/sql/ledger/ledger.ts";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import { anApply } from "../../../builders/groups.ts";
import { begun } from "../../../builders/records.ts";
import { collect } from "../../../contracts/collect.ts";
import { leaseOf, NOW } from "../../../contracts/ledger/rig.ts";
import { someTokens } from "../../../contracts/token-store.ts";
import { aDatabase, HISTORY_MS, LOCATION } from "../../sql/ledger/ledger-database.ts";
import { aLedgerWithTokens, OWN } from "../../sql/tokens/token-place.ts";
import { isThere, ownMariadb } from "../own-mariadb.ts";

const TOKENS = { "Größe 😀": "a token 😀", "it's \\": "another" };

const MARK = { name: "default", baseUrl: "https://dashboards.example.com", teamId: 7, ledgerId: "l" };

/** Each of them would have a statement fail, or do something else. */
const ODD_SETTINGS = [
  "completion_type = CHAIN",
  "sql_safe_updates = 1",
  "sql_mode = 'ORACLE,NO_BACKSLASH_ESCAPES,EMPTY_STRING_IS_NULL'",
  "autocommit = 0",
  "sql_select_limit = 1",
  "max_join_size = 1",
  "TRANSACTION READ ONLY",
  "TRANSACTION ISOLATION LEVEL SERIALIZABLE",
  "time_zone = '+05:45'",
  "idle_transaction_timeout = 1",
];

test.skipIf(!isThere)("the server's own settings change nothing for the ledger and the tokens", async () => {
  // Text goes by latin1 then, whatever a client asks for.
  const { url, query } = await ownMariadb({
    character_set_server: "latin1",
    skip_character_set_client_handshake: "1",
  });
  for (const setting of ODD_SETTINGS) await query(`SET GLOBAL ${setting}`);
  await query("CREATE DATABASE odd");
  const database = aDatabase(`${url}odd`, "mysql");
  const { ledger, tokens } = await aLedgerWithTokens(database);
  const lease = await leaseOf(ledger);

  const ids = Object.keys(TOKENS);
  await ledger.write(lease, async (transaction) => {
    await transaction.change(
      ids.map((user_group_id) => begun(anApply({ user_group_id }))),
      NOW,
    );
    expect(await tokens.write(someTokens(TOKENS), transaction)).toEqual(new Map());
  });
  const groups = (await collect(ledger.groups())).flat();
  expect(groups.map((group) => group.user_group_id)).toEqual(ids);
  expect(await ledger.renewLease(lease, 60_000)).toBeUndefined();

  const another = aDatabase(`${url}odd`, "mysql");
  const stored = await new SqlTokenTable(another, OWN).read(ids);
  expect(Object.fromEntries([...stored].map(([id, token]) => [id, token.reveal()]))).toEqual(TOKENS);
  expect(
    await sqlLedger(another, LOCATION, "default", HISTORY_MS).acquireLease("another", 60_000),
  ).toMatchObject({
    kind: "held",
  });
});

test.skipIf(!isThere)(
  "a table by its name in other case is the same where the server folds names",
  async () => {
    const { url, query } = await ownMariadb({ lower_case_table_names: "1" });
    await query("CREATE DATABASE odd");
    const database = aDatabase(`${url}odd`, "mysql");
    const written = new SqlTokenTable(database, { ...OWN, table: "Groupsync_Tokens" });
    const folded = new SqlTokenTable(database, OWN);
    await written.prepare();
    await written.destinations[0]?.claim(MARK, null);
    for (const { destinations } of [written, folded]) {
      expect(await destinations[0]?.owner()).toEqual(MARK);
    }
  },
);

test.skipIf(!isThere)(
  "no statement waits for a table's lock when its sender has given up on it",
  async () => {
    const { url } = await ownMariadb();
    const database = aDatabase(`${url}mysql`, "mysql");
    const [session] = await database.query<{ patience: string }>("SELECT @@lock_wait_timeout AS patience");
    expect(Number(session?.patience)).toBeLessThan(60);
  },
);

test.skipIf(!isThere)("a server that logs statements is refused with a remedy that works", async () => {
  const { url, query } = await ownMariadb({ log_bin: "binary", binlog_format: "STATEMENT" });
  await query("CREATE DATABASE logged");
  // The setting of a session is that of the server when it began.
  const open = () => {
    const database = aDatabase(`${url}logged`, "mysql");
    const ledger = sqlLedger(database, LOCATION, "default", HISTORY_MS);
    return { ledger, tokens: new SqlTokenTable(database, OWN, ledger) };
  };
  const refusal = {
    message: expect.stringContaining("BINLOG_FORMAT = STATEMENT"),
    hint: expect.stringContaining("set binlog_format to ROW or MIXED"),
    cause: expect.objectContaining({ errno: 1665 }),
  };
  const before = open();
  await expect(before.ledger.prepare()).rejects.toMatchObject({ ...refusal, code: "LEDGER_UNAVAILABLE" });
  await expect(before.tokens.prepare()).rejects.toMatchObject({
    ...refusal,
    code: "TOKEN_STORE_UNAVAILABLE",
  });

  for (const format of ["MIXED", "ROW"]) {
    await query(`SET GLOBAL binlog_format = ${format}`);
    const { ledger, tokens } = open();
    await ledger.prepare();
    await tokens.prepare();
    const lease = await leaseOf(ledger);
    await ledger.write(lease, async (transaction) => {
      expect(await tokens.write(someTokens({ acme: format }), transaction)).toEqual(new Map());
    });
    await ledger.releaseLease(lease);
    expect((await tokens.read(["acme"])).get("acme")?.reveal()).toBe(format);
  }

  await query("SET GLOBAL binlog_format = STATEMENT");
  await expect(leaseOf(open().ledger)).rejects.toMatchObject({ ...refusal, code: "LEDGER_UNAVAILABLE" });
});

test.skipIf(!isThere)("a server that says it is older than MySQL 8.0 is refused", async () => {
  const { url } = await ownMariadb({ version: "5.7.44" });
  const database = aDatabase(`${url}mysql`, "mysql");
  await expect(database.query("SELECT 1")).rejects.toMatchObject({ code: "DATABASE_TOO_OLD" });
});
