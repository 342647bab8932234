import type { Database } from "../../../src/adapters/sql/database.ts";
import { SqlLedger } from "../../../src/adapters/sql/ledger.ts";
import type { TokenTableOptions } from "../../../src/adapters/sql/token-statements.ts";
import { SqlTokenTable } from "../../../src/adapters/sql/token-table.ts";
import type { Lease } from "../../../src/ports/ledger.ts";
import type { TokenPlace } from "../../contracts/token-store.ts";
import { type FreshDatabase, freshDatabase } from "../../support/fresh-database.ts";
import { aDatabase, LOCATION } from "../sql/ledger-database.ts";

export const OWN: TokenTableOptions = {
  table: "groupsync_tokens",
  rows: "own",
  idColumn: "user_group_id",
  tokenColumn: "token",
};

export const EXISTING: TokenTableOptions = {
  table: "customers",
  rows: "existing",
  idColumn: "id",
  tokenColumn: "dashboard_token",
};

/** A ledger and its lease, in a database that is prepared for it. */
async function aHeldLedger(database: Database): Promise<{ ledger: SqlLedger; lease: Lease }> {
  const ledger = new SqlLedger(database, LOCATION, "default");
  await ledger.prepare();
  const attempt = await ledger.acquireLease("me", 60_000);
  if (attempt.kind === "held") throw new Error("the lease should be free");
  return { ledger, lease: attempt.lease };
}

/** A ledger's `write`, in a database that is prepared for it. */
export async function ledgerWrite(database: Database): Promise<TokenPlace["write"]> {
  const { ledger, lease } = await aHeldLedger(database);
  return (body) => ledger.write(lease, body);
}

export interface PostgresTokenPlace extends TokenPlace {
  /** Where the tokens are. */
  readonly tokens: FreshDatabase;
}

/** Tokens in the ledger's database, or in one of their own. With `rows: existing`, there are rows for the ids. */
export async function aTokenPlace(
  options: TokenTableOptions,
  where: "with the ledger" | "elsewhere",
  ids: readonly string[] = ["a", "b", "c", "d"],
): Promise<PostgresTokenPlace> {
  const tokens = await freshDatabase();
  const database = aDatabase(tokens.url);
  const { ledger, lease } = await aHeldLedger(
    where === "elsewhere" ? aDatabase((await freshDatabase()).url) : database,
  );
  const store = new SqlTokenTable(database, options);
  const { table, rows, idColumn, tokenColumn } = options;
  if (rows === "existing") {
    await tokens.query(`CREATE TABLE ${table} (${idColumn} text PRIMARY KEY, ${tokenColumn} text)`);
    await tokens.query(`INSERT INTO ${table} SELECT unnest($1::text[])`, [ids]);
  }
  return {
    tokens,
    sharesLedger: where === "with the ledger",
    store,
    write: (body) => ledger.write(lease, body),
    writeAtOnce: (token) => store.writeAtOnce(token, ledger, lease),
    loseLease: async () => {
      await ledger.releaseLease(lease);
      await ledger.acquireLease("another", 60_000);
    },
    stored: async () => {
      const found = await tokens.query<{ id: string; token: string | null }>(
        `SELECT ${idColumn} AS id, ${tokenColumn} AS token FROM ${table}`,
      );
      return Object.fromEntries(found.map(({ id, token }) => [id, token]));
    },
    refuseSome: async () => {
      // The cast fails with the value in the error's message; the row is in its detail.
      await tokens.query(
        `ALTER TABLE ${table} ADD CHECK (${tokenColumn} NOT LIKE 'refused%' OR ${tokenColumn}::int > 0) NOT VALID`,
      );
    },
    keepSome: async () => {
      await tokens.query(
        `CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE 'still needed: %', OLD.${tokenColumn} USING DETAIL = OLD.${tokenColumn}; END $$`,
      );
      await tokens.query(
        `CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON ${table} FOR EACH ROW
         WHEN (OLD.${tokenColumn} LIKE 'kept%') EXECUTE FUNCTION keep()`,
      );
    },
    breakDown: async () => {
      await tokens.query(`ALTER TABLE ${table} RENAME TO elsewhere`);
      // Neither can it be made anew.
      await tokens.query(`CREATE TYPE ${table} AS ENUM ()`);
    },
  };
}
