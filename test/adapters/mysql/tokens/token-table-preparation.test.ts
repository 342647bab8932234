import { describe, expect, test } from "vitest";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import type { SyncError } from "../../../../src/core/failure/sync-error.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aDatabase } from "../../sql/ledger/ledger-database.ts";
import { EXISTING, OWN } from "../../sql/tokens/token-place.ts";

const refusalOf = (store: SqlTokenTable): Promise<SyncError> =>
  store.prepare().then(Promise.reject, (error) => error);

describe("own rows", () => {
  test.each([
    ["varchar(100)", "varchar(100) COLLATE utf8mb4_general_ci"],
    ["varchar(512) COLLATE utf8mb4_bin", "varchar(512) COLLATE utf8mb4_bin"],
    ["varchar(100) CHARACTER SET latin1 COLLATE latin1_bin", "varchar(100) COLLATE latin1_bin"],
    ["char(100) COLLATE utf8mb4_bin", "char(100) COLLATE utf8mb4_bin"],
  ])("ids in a %s would be taken for others, until the statement in the hint is run", async (type, told) => {
    const { url, query } = await freshDatabase("mysql");
    await query(
      `CREATE TABLE groupsync_tokens (user_group_id ${type} PRIMARY KEY, token text, updated_at datetime)
       COLLATE utf8mb4_general_ci`,
    );
    const store = new SqlTokenTable(aDatabase(url, "mysql"), OWN);
    const error = await refusalOf(store);
    expect(error).toMatchObject({
      code: "CONFIG_COLUMNS",
      message: `tokens.table: groupsync_tokens takes different ids for one in column user_group_id: it is ${told}`,
    });
    await query(error.hint ?? "");
    await store.prepare();
  });

  test("a time that the server computes is refused before any token is fetched", async () => {
    const { url, query } = await freshDatabase("mysql");
    await query(
      `CREATE TABLE groupsync_tokens (user_group_id varbinary(36) PRIMARY KEY, token text, since datetime,
         updated_at datetime AS (since + INTERVAL 1 DAY) STORED)`,
    );
    expect(await refusalOf(new SqlTokenTable(aDatabase(url, "mysql"), OWN))).toMatchObject({
      code: "CONFIG_COLUMNS",
      message: "tokens.table: groupsync_tokens computes column updated_at by itself",
    });
  });

  test("ids in a shorter column, in bytes, under a name with capitals, are good", async () => {
    const { url, query } = await freshDatabase("mysql");
    await query(
      "CREATE TABLE groupsync_tokens (User_Group_ID varbinary(36) PRIMARY KEY, token text, updated_at datetime)",
    );
    await new SqlTokenTable(aDatabase(url, "mysql"), OWN).prepare();
  });

  test("a key on the first letters of the ids is not unique", async () => {
    const { url, query } = await freshDatabase("mysql");
    await query(
      `CREATE TABLE groupsync_tokens
       (user_group_id varbinary(512), token text, updated_at datetime, UNIQUE (user_group_id(9)))`,
    );
    await expect(new SqlTokenTable(aDatabase(url, "mysql"), OWN).prepare()).rejects.toMatchObject({
      code: "CONFIG_COLUMNS",
      message: "tokens.table: groupsync_tokens may have several rows for one user_group_id",
    });
  });
});

test.each([
  [OWN, "user_group_id varbinary(512) PRIMARY KEY, token text, updated_at datetime"],
  [EXISTING, "id int PRIMARY KEY, dashboard_token text"],
] as const)(
  "a table without transactions is refused, until the statement in the hint is run: $rows rows",
  async (options, columns) => {
    const { url, query } = await freshDatabase("mysql");
    await query(`CREATE TABLE ${options.table} (${columns}) ENGINE = MyISAM`);
    const store = new SqlTokenTable(aDatabase(url, "mysql"), options);
    const error = await refusalOf(store);
    expect(error).toMatchObject({
      code: "CONFIG_COLUMNS",
      message: `tokens.table: ${options.table} has no transactions: its engine is MyISAM`,
    });
    await query(error.hint ?? "");
    await store.prepare();
  },
);

test("a url without a database is told apart from a missing table", async () => {
  const { url } = await freshDatabase("mysql");
  const server = Object.assign(new URL(url), { pathname: "/" }).href;
  await expect(new SqlTokenTable(aDatabase(server, "mysql"), OWN).prepare()).rejects.toMatchObject({
    code: "TOKEN_STORE_UNAVAILABLE",
    hint: expect.stringContaining("name a database"),
  });
});
