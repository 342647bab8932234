import { expect, inject } from "vitest";
import type { Database } from "../../../../src/adapters/sql/dialect/database.ts";
import type { TokenTableOptions } from "../../../../src/adapters/sql/dialect/token-statements.ts";
import { type SqlLedger, sqlLedger } from "../../../../src/adapters/sql/ledger/ledger.ts";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import type { Lease } from "../../../../src/ports/ledger/lease.ts";
import { leaseOf } from "../../../contracts/ledger/rig.ts";
import { inNoLedger, type TokenPlace } from "../../../contracts/token-store.ts";
import {
  type DatabaseKind,
  type FreshDatabase,
  freshDatabase,
} from "../../../support/databases/fresh-database.ts";
import { aDatabase, HISTORY_MS, LOCATION } from "../ledger/ledger-database.ts";
import { preparedDatabase } from "../ledger/prepared-database.ts";

export { removeTokens, writeTokens } from "../../../contracts/token-store.ts";

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
  const ledger = sqlLedger(database, LOCATION, "default", HISTORY_MS);
  await ledger.prepare();
  return { ledger, lease: await leaseOf(ledger) };
}

/** A ledger, and its own token table beside it, both prepared. */
export async function aLedgerWithTokens(database: Database) {
  const ledger = sqlLedger(database, LOCATION, "default", HISTORY_MS);
  const tokens = new SqlTokenTable(database, OWN, ledger);
  await ledger.prepare();
  await tokens.prepare();
  return { ledger, tokens };
}

/** A token table in the ledger's database, and the ledger's `write`. */
export async function aTokenTable(
  database: Database,
  options: TokenTableOptions,
): Promise<Pick<SqlTokenPlace, "store" | "write">> {
  const { ledger, lease } = await aHeldLedger(database);
  const store = new SqlTokenTable(database, options, ledger);
  return { store, write: (body) => ledger.write(lease, body) };
}

/** What a customer's database, or somebody in it, does with a token table. */
interface Customs {
  /** A customers' table, whose ids are told apart by more than their key. */
  readonly create: (options: TokenTableOptions) => string;
  /** Each refuses tokens that begin with `refused`, with an error that quotes them. */
  readonly refuseSome: (options: TokenTableOptions) => readonly string[];
  /** Likewise to remove tokens that begin with `kept`. */
  readonly keepSome: (options: TokenTableOptions) => readonly string[];
  /** There is no such table any more, nor can it be made anew. */
  readonly breakDown: (options: TokenTableOptions) => readonly string[];
}

const CUSTOMS: Readonly<Record<DatabaseKind, Customs>> = {
  postgres: {
    create: ({ table, idColumn, tokenColumn }) =>
      `CREATE TABLE ${table} (${idColumn} text PRIMARY KEY, ${tokenColumn} text)`,
    refuseSome: ({ table, tokenColumn }) => [
      // The cast fails with the value in the error's message; the row is in its detail.
      `ALTER TABLE ${table} ADD CHECK (${tokenColumn} NOT LIKE 'refused%' OR ${tokenColumn}::int > 0) NOT VALID`,
    ],
    keepSome: ({ table, tokenColumn }) => [
      `CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE 'still needed: %', OLD.${tokenColumn} USING DETAIL = OLD.${tokenColumn}; END $$`,
      `CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON ${table} FOR EACH ROW
       WHEN (OLD.${tokenColumn} LIKE 'kept%') EXECUTE FUNCTION keep()`,
    ],
    breakDown: ({ table }) => [`ALTER TABLE ${table} RENAME TO elsewhere`, `CREATE TYPE ${table} AS ENUM ()`],
  },
  mysql: {
    // Its key takes 'a', 'A', 'ä' and 'a ' for one, and is not unique.
    create: ({ table, idColumn, tokenColumn }) =>
      `CREATE TABLE ${table} (${idColumn} varchar(512) NOT NULL, ${tokenColumn} text, KEY (${idColumn}))
       CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci`,
    refuseSome: ({ table, tokenColumn }) =>
      ["INSERT", "UPDATE"].map((event) =>
        signalling(event, table, `NEW.${tokenColumn} LIKE 'refused%'`, `'no good: ', NEW.${tokenColumn}`),
      ),
    keepSome: ({ table, tokenColumn }) =>
      ["UPDATE", "DELETE"].map((event) =>
        signalling(event, table, `OLD.${tokenColumn} LIKE 'kept%'`, `'still needed: ', OLD.${tokenColumn}`),
      ),
    breakDown: ({ table }) => [
      `RENAME TABLE ${table} TO elsewhere`,
      `CREATE VIEW ${table} AS SELECT * FROM elsewhere`,
      "RENAME TABLE elsewhere TO nowhere",
    ],
  },
};

const signalling = (event: string, table: string, when: string, message: string): string =>
  `CREATE TRIGGER signal_${event} BEFORE ${event} ON ${table} FOR EACH ROW
   IF ${when} THEN
     SET @message = concat(${message});
     SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = @message;
   END IF`;

export interface SqlTokenPlace extends TokenPlace {
  readonly store: SqlTokenTable;
  /** Where the tokens are. */
  readonly tokens: FreshDatabase;
}

/** Tokens in the ledger's database, or in one of their own. With `rows: existing`, there are rows for the ids. */
export async function aTokenPlace(
  options: TokenTableOptions,
  where: "with the ledger" | "elsewhere",
  ids: readonly string[] = ["a", "b", "c", "d"],
  kind: DatabaseKind = inject("databaseKind"),
): Promise<SqlTokenPlace> {
  const tokens = where === "elsewhere" ? await freshDatabase(kind) : await preparedDatabase(kind);
  const database = aDatabase(tokens.url, kind);
  const held = where === "elsewhere" ? undefined : await aHeldLedger(database);
  const store = new SqlTokenTable(database, options, held?.ledger);
  const { table, rows, idColumn, tokenColumn } = options;
  const customs = CUSTOMS[kind];
  const each = async (statements: readonly string[]): Promise<void> => {
    for (const statement of statements) await tokens.query(statement);
  };
  if (rows === "existing") {
    await tokens.query(customs.create(options));
    const places = ids.map((_, index) => `($${index + 1})`);
    await tokens.query(`INSERT INTO ${table} (${idColumn}) VALUES ${places.join(", ")}`, ids);
  }
  return {
    tokens,
    store,
    ...(held && {
      beside: {
        storesAtOnce: kind === "postgres",
        writeAtOnce: (token) => store.writeAtOnce(token, held.lease),
        loseLease: async () => {
          await held.ledger.releaseLease(held.lease);
          await held.ledger.acquireLease("another", 60_000);
        },
      },
    }),
    write: held ? (body) => held.ledger.write(held.lease, body) : inNoLedger,
    stored: async () => {
      const found = await tokens.query<{ id: string; token: string | null }>(
        `SELECT ${idColumn} AS id, ${tokenColumn} AS token FROM ${table}`,
      );
      return Object.fromEntries(found.map(({ id, token }) => [id, token]));
    },
    refuseSome: () => each(customs.refuseSome(options)),
    keepSome: () => each(customs.keepSome(options)),
    breakDown: () => each(customs.breakDown(options)),
  };
}

/** Likewise in the ledger's database, and prepared. */
export async function aPreparedPlace(
  options: TokenTableOptions,
  kind?: DatabaseKind,
): Promise<SqlTokenPlace> {
  const place = await aTokenPlace(options, "with the ledger", undefined, kind);
  await place.store.prepare();
  return place;
}

/** The error of a token that is not in the table after its write. */
export const NOT_TAKEN = {
  code: "TOKEN_NOT_STORED",
  message: expect.stringContaining("did not take the token"),
  hint: expect.stringContaining("triggers"),
};
