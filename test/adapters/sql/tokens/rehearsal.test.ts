import { describe, expect, inject, test } from "vitest";
import type { TokenTableOptions } from "../../../../src/adapters/sql/dialect/token-statements.ts";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import type { Finding } from "../../../../src/core/report/finding.ts";
import { dump } from "../../../e2e/dump.ts";
import { type FreshDatabase, freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aDatabase } from "../ledger/ledger-database.ts";
import { EXISTING, OWN } from "./token-place.ts";

const kind = inject("databaseKind");

/** What a rehearsal finds, once it is shown that it has changed nothing. */
async function rehearse(database: FreshDatabase, options: TokenTableOptions): Promise<Finding | undefined> {
  const store = new SqlTokenTable(aDatabase(database.url), options);
  const before = await dump(database);
  const [finding] = await store.rehearse();
  expect(await dump(database)).toEqual(before);
  return finding;
}

async function customers(token = "text", database?: FreshDatabase): Promise<FreshDatabase> {
  const made = database ?? (await freshDatabase());
  await made.query(`CREATE TABLE customers (id varchar(100) PRIMARY KEY, dashboard_token ${token})`);
  await made.query("INSERT INTO customers VALUES ('a', 'token-a'), ('b', 'token-b')");
  return made;
}

async function ownTable(): Promise<FreshDatabase> {
  const database = await freshDatabase();
  await new SqlTokenTable(aDatabase(database.url), OWN).prepare();
  return database;
}

/** Refuses to write or to remove a token, for the reason `why`; without it, silently. */
const TRIGGERS = {
  postgres: (table: string, event: string, why?: string) => [
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN ${why === undefined ? "RETURN NULL" : `RAISE '${why}'`}; END $$`,
    `CREATE TRIGGER refuse BEFORE ${event} ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse()`,
  ],
  mysql: (table: string, event: string, why?: string) => [
    `CREATE TRIGGER refuse BEFORE ${event} ON ${table} FOR EACH ROW
     ${why === undefined ? "SET NEW.token = ''" : `SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '${why}'`}`,
  ],
};

async function withTrigger(database: FreshDatabase, ...trigger: [string, string, string?]) {
  for (const statement of TRIGGERS[kind](...trigger)) await database.query(statement);
  return database;
}

describe("a rehearsal in a table of one's own", () => {
  test("finds that it would be created, and creates nothing", async () => {
    expect(await rehearse(await freshDatabase(), OWN)).toMatchObject({
      level: "ok",
      message: expect.stringContaining("a sync creates the table groupsync_tokens"),
    });
  });

  test("finds all well if it takes a token and lets it go", async () => {
    expect(await rehearse(await ownTable(), OWN)).toMatchObject({
      level: "ok",
      message: expect.stringContaining("rolled back"),
    });
  });

  test("finds a trigger that refuses tokens", async () => {
    const database = await withTrigger(await ownTable(), "groupsync_tokens", "INSERT", "closed on sundays");
    expect(await rehearse(database, OWN)).toMatchObject({
      level: "failure",
      code: "TOKEN_NOT_STORED",
      message: expect.stringContaining("closed on sundays"),
      hint: expect.stringContaining("triggers"),
    });
  });

  test("finds a trigger that drops tokens silently", async () => {
    const database = await withTrigger(await ownTable(), "groupsync_tokens", "INSERT");
    expect(await rehearse(database, OWN)).toMatchObject({
      level: "failure",
      code: "TOKEN_NOT_STORED",
      message: expect.stringContaining("raised no error"),
    });
  });

  test("finds a trigger that keeps tokens", async () => {
    const database = await withTrigger(await ownTable(), "groupsync_tokens", "DELETE", "kept for the audit");
    expect(await rehearse(database, OWN)).toMatchObject({
      level: "failure",
      code: "TOKEN_NOT_REMOVED",
      message: expect.stringContaining("kept for the audit"),
    });
  });
});

describe("a rehearsal in the customers' rows", () => {
  test("finds all well, and leaves the customer's token", async () => {
    const database = await customers();
    expect(await rehearse(database, EXISTING)).toMatchObject({ level: "ok" });
    expect(await database.query("SELECT dashboard_token FROM customers ORDER BY id")).toEqual([
      { dashboard_token: "token-a" },
      { dashboard_token: "token-b" },
    ]);
  });

  test("finds a token column that takes no NULL, with the statement that mends it", async () => {
    const database = await customers("varchar(500) NOT NULL");
    const finding = await rehearse(database, EXISTING);
    expect(finding).toMatchObject({ level: "failure", code: "TOKEN_NOT_REMOVED" });
    await database.query(finding?.hint ?? "");
    expect(await rehearse(database, EXISTING)).toMatchObject({ level: "ok" });
  });

  test("finds a token column that is too short", async () => {
    expect(await rehearse(await customers("varchar(20)"), EXISTING)).toMatchObject({
      level: "failure",
      code: "TOKEN_NOT_STORED",
    });
  });

  test("tries nothing if there is no row", async () => {
    const database = await customers();
    await database.query("DELETE FROM customers");
    expect(await rehearse(database, EXISTING)).toMatchObject({
      level: "warning",
      message: expect.stringContaining("has no row"),
    });
  });

  test.runIf(kind === "mysql")(
    "tries nothing in a view, which may stand for a table without transactions",
    async () => {
      const database = await customers();
      await database.query("ALTER TABLE customers ENGINE = MyISAM");
      await database.query("CREATE VIEW shown AS SELECT * FROM customers");
      expect(await rehearse(database, { ...EXISTING, table: "shown" })).toMatchObject({
        level: "warning",
        hint: expect.stringContaining("tokens.table"),
      });
    },
  );
});
