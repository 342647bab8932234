import { describe, expect, inject, test } from "vitest";
import type { TokenTableOptions } from "../../../../src/adapters/sql/dialect/token-statements.ts";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import { rejection } from "../../../contracts/collect.ts";
import { everythingIn } from "../../../contracts/everything-in.ts";
import { someTokens } from "../../../contracts/token-store.ts";
import type { DatabaseKind } from "../../../support/databases/fresh-database.ts";
import { aRole, makerOf } from "../../../support/databases/role.ts";
import { aDatabase } from "../ledger/ledger-database.ts";
import { aTokenPlace, EXISTING, OWN, removeTokens, type SqlTokenPlace, writeTokens } from "./token-place.ts";

/** Triggers that fail for the row of b alone, each in its own way. */
type Fault = (options: TokenTableOptions, row: "NEW" | "OLD", events: readonly string[]) => readonly string[];

const raising =
  (errcode: string): Fault =>
  ({ table, idColumn }, row, events) => [
    `CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN RAISE 'not for %', ${row}.${idColumn} USING ERRCODE = '${errcode}'; END $$`,
    `CREATE TRIGGER fault BEFORE ${events.join(" OR ")} ON ${table} FOR EACH ROW
     WHEN (${row}.${idColumn} = 'b') EXECUTE FUNCTION fault()`,
  ];

const signalling =
  (errno: number): Fault =>
  (options, row, events) =>
    triggers(
      options,
      row,
      events,
      `SIGNAL SQLSTATE 'HY000' SET MESSAGE_TEXT = 'not for b', MYSQL_ERRNO = ${errno}`,
    );

const triggers = (
  { table, idColumn }: TokenTableOptions,
  row: string,
  events: readonly string[],
  act: string,
): string[] =>
  events.map(
    (event) =>
      `CREATE TRIGGER fault_${event} BEFORE ${event} ON ${table} FOR EACH ROW
       IF ${row}.${idColumn} = 'b' THEN ${act}; END IF`,
  );

const FAULTS: Readonly<Record<DatabaseKind, Readonly<Record<string, Fault>>>> = {
  postgres: {
    "raises a missing right": raising("42501"),
    "raises a state of its own": raising("ZZ123"),
    "raises an internal error": raising("XX000"),
    "raises a deadlock": raising("40P01"),
    "raises a lock that is not to be had": raising("55P03"),
    "raises it at the end of the transaction": ({ table, idColumn }, row, events) => [
      `CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE 'not for %', ${row}.${idColumn}; END $$`,
      `CREATE CONSTRAINT TRIGGER fault AFTER ${events.join(" OR ")} ON ${table} DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW WHEN (${row}.${idColumn} = 'b') EXECUTE FUNCTION fault()`,
    ],
  },
  mysql: {
    "signals a missing right": signalling(1142),
    "signals a lock that is not to be had": signalling(1205),
    "signals a deadlock": signalling(1213),
    "signals an internal error": signalling(1815),
    "writes to a table that is gone": (options, row, events) =>
      triggers(options, row, events, "INSERT INTO gone VALUES (1)"),
    "calls a routine that is gone": (options, row, events) => triggers(options, row, events, "CALL gone()"),
  },
};
const faults = Object.entries(FAULTS[inject("databaseKind")]);

async function poisoned(
  options: TokenTableOptions,
  where: "with the ledger" | "elsewhere",
  fault: Fault,
  [row, ...events]: readonly ["NEW" | "OLD", ...string[]],
): Promise<SqlTokenPlace> {
  const place = await aTokenPlace(options, where);
  await place.store.prepare();
  if (row === "OLD") await writeTokens(place, { a: "token-a", b: "token-b", c: "token-c" });
  for (const statement of fault(options, row, events)) await place.tokens.query(statement);
  return place;
}

const REFUSED = { code: "TOKEN_NOT_STORED", hint: expect.any(String) };

describe.each(faults)("a trigger that %s for one row", (_, fault) => {
  test.each([
    [OWN, "with the ledger"],
    [EXISTING, "elsewhere"],
  ] as const)("costs that tenant its token alone: $rows rows", async (options, where) => {
    const place = await poisoned(options, where, fault, ["NEW", "INSERT", "UPDATE"]);
    const refused = await writeTokens(place, { a: "token-a", b: "token-b", c: "token-c" });
    expect([...refused]).toEqual([["b", expect.objectContaining(REFUSED)]]);
    expect(await place.stored()).toMatchObject({ a: "token-a", c: "token-c" });
    const again = await writeTokens(place, { b: "token-b" }, { rewrite: true });
    expect([...again]).toEqual([["b", expect.objectContaining(REFUSED)]]);
    const [token] = someTokens({ b: "token-b2" });
    if (token && place.beside) expect(await place.beside.writeAtOnce(token)).toBe(false);
  });

  test.each([
    [OWN, "elsewhere"],
    [EXISTING, "with the ledger"],
  ] as const)("keeps no other tenant's token from being removed: $rows rows", async (options, where) => {
    const place = await poisoned(options, where, fault, ["OLD", "UPDATE", "DELETE"]);
    const refused = await removeTokens(place, ["a", "b", "c"]);
    expect([...refused]).toEqual([["b", expect.objectContaining({ code: "TOKEN_NOT_REMOVED" })]]);
    const { a, b } = await place.stored();
    expect([a ?? null, b]).toEqual([null, "token-b"]);
  });
});

test.each([OWN, EXISTING])(
  "a right that is taken away is the store's fault, however few tokens are written: $rows rows",
  async (options) => {
    const place = await aTokenPlace(options, "elsewhere");
    await place.store.prepare();
    const role = await aRole(place.tokens);
    const rights = "SELECT, INSERT, UPDATE, DELETE";
    await place.tokens.query(`GRANT ${rights} ON ${options.table} TO ${role.name}`);
    const store = new SqlTokenTable(aDatabase(role.url), { ...options, owner: makerOf(place.tokens) });
    await store.prepare();
    await writeTokens({ ...place, store }, { a: "token-a" });
    await place.tokens.query(`REVOKE ${rights} ON ${options.table} FROM ${role.name}`);
    expect(await rejection(writeTokens({ ...place, store }, { b: "token-b" }))).toMatchObject({
      code: "TOKEN_STORE_UNAVAILABLE",
    });
    expect(await rejection(removeTokens({ ...place, store }, ["a"]))).toMatchObject({
      code: "TOKEN_STORE_UNAVAILABLE",
    });
  },
);

/** A store whose transaction the database gives up at the first statement on a token. */
async function aLosingStore(reason: object): Promise<SqlTokenTable> {
  const { tokens, store } = await aTokenPlace(OWN, "with the ledger");
  await store.prepare();
  let isLost = false;
  const query = async (text: string) => {
    if (!isLost && text.startsWith("SAVEPOINT")) return [];
    isLost = true;
    throw Object.assign(new Error("given up over token-a"), reason);
  };
  const ledger = { sessionOf: () => ({ query, isLastAttempt: true }), ifOfNoOther: async () => "" };
  return new SqlTokenTable(aDatabase(tokens.url), OWN, ledger);
}

const ACTS = {
  write: (store: SqlTokenTable) => store.write(someTokens({ a: "token-a" }), {} as never),
  remove: (store: SqlTokenTable) => store.remove(["a"], {} as never),
};

test.each([
  ["write", "TOKEN_NOT_STORED"],
  ["remove", "TOKEN_NOT_REMOVED"],
] as const)(
  "a transaction that a deadlock rolled back to %s a token is not the fault of the whole table",
  async (act, code) => {
    const deadlock = { code: "40P01", severity: "ERROR", errno: 1213, sqlState: "40001" };
    const error = await rejection(ACTS[act](await aLosingStore(deadlock)));
    const message = expect.stringContaining("the database gave up a change of groupsync_tokens");
    expect(error).toMatchObject({ code, message });
    if (act === "write") expect(everythingIn(error)).not.toContain("token-a");
  },
);

test.each(["write", "remove"] as const)(
  "a wait for a lock that cost the transaction is not repeated for parts of the tokens: %s",
  async (act) => {
    const timeout = { code: "55P03", severity: "ERROR", errno: 1205, sqlState: "HY000" };
    const error = await rejection(ACTS[act](await aLosingStore(timeout)));
    expect(error).toMatchObject({
      code: "TOKEN_STORE_UNAVAILABLE",
      hint: expect.stringContaining("let that"),
    });
    if (act === "write") expect(everythingIn(error)).not.toContain("token-a");
  },
);
