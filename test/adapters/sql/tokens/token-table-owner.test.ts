import { expect, test } from "vitest";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import type { OwnersMark } from "../../../../src/core/tokens/destination.ts";
import type { TokenDestination } from "../../../../src/ports/token-store.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aRole } from "../../../support/databases/role.ts";
import { aDatabase } from "../ledger/ledger-database.ts";
import { EXISTING } from "./token-place.ts";

const MARK: OwnersMark = {
  name: "default",
  baseUrl: "https://dashboards.example.com",
  teamId: 7,
  ledgerId: "L1",
};

async function theCustomers() {
  const fresh = await freshDatabase();
  await fresh.query("CREATE TABLE customers (id varchar(9) PRIMARY KEY, dashboard_token varchar(99))");
  return fresh;
}

async function destinationOf(url: string, table: string): Promise<TokenDestination> {
  const store = new SqlTokenTable(aDatabase(url), { ...EXISTING, table });
  await store.prepare();
  const [destination] = store.destinations;
  if (destination === undefined) throw new Error("there is no destination");
  return destination;
}

test("a user who may not create tables is told the statements that make room for the mark", async () => {
  const fresh = await theCustomers();
  const role = await aRole(fresh);
  await role.grant("SELECT, UPDATE");
  const at = await destinationOf(role.url, EXISTING.table);
  expect(await at.owner()).toBeNull();
  const error: { code?: string; hint?: string } = await at.claim(MARK, null).then(
    () => ({}),
    (thrown) => thrown,
  );
  expect(error).toMatchObject({ code: "TOKENS_UNMARKED", hint: expect.stringContaining(role.name) });
  const [, statements = ""] = error.hint?.split("run as a user who may: ") ?? [];
  // As an operator's client takes them; this one takes names in double quotes.
  for (const statement of statements.split("; ")) await fresh.query(statement.replaceAll("`", '"'));
  expect(await at.claim(MARK, null)).toBe(true);
  expect(await at.owner()).toEqual(MARK);
});

test("a table is one destination, with and without its schema in the config", async () => {
  const fresh = await theCustomers();
  const schema = fresh.kind === "postgres" ? "public" : fresh.name;
  const [short, long] = [
    await destinationOf(fresh.url, "customers"),
    await destinationOf(fresh.url, `${schema}.customers`),
  ];
  expect(await short.claim(MARK, null)).toBe(true);
  expect(await long.owner()).toEqual(MARK);
  expect(await long.claim({ ...MARK, name: "other" }, null)).toBe(false);
});

test("tables whose names only a collation takes for one have marks of their own", async () => {
  const fresh = await theCustomers();
  await fresh.query("CREATE TABLE cüstomers (id varchar(9) PRIMARY KEY, dashboard_token varchar(99))");
  const [plain, umlaut] = [
    await destinationOf(fresh.url, "customers"),
    await destinationOf(fresh.url, "cüstomers"),
  ];
  expect(await plain.claim(MARK, null)).toBe(true);
  expect(await umlaut.owner()).toBeNull();
  const other = { ...MARK, name: "other" };
  expect(await umlaut.claim(other, null)).toBe(true);
  expect(await Promise.all([plain.owner(), umlaut.owner()])).toEqual([MARK, other]);
});
