import { expect, test } from "vitest";
import { postgresTenantSource } from "../../../../src/adapters/postgres/source/tenant-source.ts";
import { sqlLedger } from "../../../../src/adapters/sql/ledger/ledger.ts";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { collect } from "../../../contracts/collect.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aRole } from "../../../support/databases/role.ts";
import { aDatabase, HISTORY_MS, LOCATION } from "../../sql/ledger/ledger-database.ts";
import { OWN, writeTokens } from "../../sql/tokens/token-place.ts";

async function aPlaceInPublic() {
  const fresh = await freshDatabase("postgres");
  const { name, url } = await aRole(fresh);
  await fresh.query(`GRANT CREATE ON SCHEMA public TO ${name}`);
  return {
    ...fresh,
    as: aDatabase(url, "postgres"),
    url,
    /** Somebody makes a schema that comes before public in the role's path, with such a table, and lets everybody in. */
    shadow: async (tables: readonly string[]): Promise<void> => {
      await fresh.query(`CREATE SCHEMA ${name}`);
      await fresh.query(`GRANT USAGE, CREATE ON SCHEMA ${name} TO public`);
      for (const table of tables) {
        await fresh.query(`CREATE TABLE ${name}.${table} (LIKE public.${table} INCLUDING ALL)`);
        await fresh.query(`GRANT ALL ON ${name}.${table} TO public`);
      }
    },
    shadowRows: (table: string) => fresh.query(`SELECT * FROM ${name}.${table}`),
  };
}

test("a token goes to the table that was found first, though another one comes before it by then", async () => {
  const { as, query, shadow, shadowRows } = await aPlaceInPublic();
  const ledger = sqlLedger(as, LOCATION, "default", HISTORY_MS);
  const store = new SqlTokenTable(as, OWN, ledger);
  await ledger.prepare();
  await store.prepare();
  const attempt = await ledger.acquireLease("me", 60_000);
  if (attempt.kind !== "acquired") throw new Error("the lease should be free");
  const tables = [OWN.table, "groupsync_leases", "groupsync_groups", "groupsync_migrations"];
  await shadow(tables);
  const { lease } = attempt;
  const refused = await writeTokens(
    { store, write: (body) => ledger.write(lease, body) },
    { a: "token-a" },
    { rewrite: true },
  );
  expect(refused).toEqual(new Map());
  expect(await query("SELECT token FROM public.groupsync_tokens")).toEqual([{ token: "token-a" }]);
  expect([...(await store.read(["a"])).keys()]).toEqual(["a"]);
  expect(await ledger.renewLease(lease, 60_000)).toBe(true);
  for (const table of tables) expect(await shadowRows(table)).toEqual([]);
});

test("tenants are read from the table that was found first", async () => {
  const { query, shadow, url } = await aPlaceInPublic();
  await query("CREATE TABLE customers (id text)");
  await query("INSERT INTO customers VALUES ('a')");
  await query("GRANT SELECT ON customers TO public");
  const source = postgresTenantSource({
    url: new Secret(url),
    applicationName: "groupsync:under-test",
    timeouts: { lockMs: 30_000, silenceMs: 600_000 },
    table: "customers",
  });
  const snapshot = await source.open(["id"], "seed", new AbortController().signal);
  try {
    await shadow(["customers"]);
    const rows = (await collect(snapshot.rows())).flat();
    expect(rows.map(({ cells }) => cells)).toEqual([["a"]]);
  } finally {
    await snapshot.close();
  }
});
