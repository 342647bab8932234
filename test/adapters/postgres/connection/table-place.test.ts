import { expect, onTestFinished, test } from "vitest";
import type { TokenTableOptions } from "../../../../src/adapters/sql/dialect/token-statements.ts";
import { sqlLedger, sqlLedgerView } from "../../../../src/adapters/sql/ledger/ledger.ts";
import { SqlTokenTable } from "../../../../src/adapters/sql/tokens/token-table.ts";
import { collect } from "../../../contracts/collect.ts";
import { leaseOf } from "../../../contracts/ledger/rig.ts";
import { NEVER } from "../../../contracts/rows-of.ts";
import { freshDatabase } from "../../../support/databases/fresh-database.ts";
import { aGroup, aRole } from "../../../support/databases/role.ts";
import { aDatabase, HISTORY_MS, LOCATION } from "../../sql/ledger/ledger-database.ts";
import { postgresSource } from "../../sql/source/source-database.ts";
import { aLedgerWithTokens, EXISTING, OWN, writeTokens } from "../../sql/tokens/token-place.ts";

const COLUMNS = "(user_group_id text PRIMARY KEY, token text NOT NULL, updated_at timestamptz NOT NULL)";
const MARK = { name: "default", baseUrl: "https://dashboards.example.com", teamId: 7, ledgerId: "L1" };

/** A database in which everybody may create tables in public, as before PostgreSQL 15. */
async function aSharedDatabase() {
  const fresh = await freshDatabase("postgres");
  await fresh.query("GRANT ALL ON SCHEMA public TO public");
  const [ours, mallory] = [await aRole(fresh), await aRole(fresh)];
  return {
    ...fresh,
    ours,
    mallory,
    /** Makes a table that is this role's, and lets everybody in. */
    make: async (owner: string, table: string, columns = COLUMNS): Promise<void> => {
      await fresh.query(`CREATE TABLE ${table} ${columns}`);
      await fresh.query(`ALTER TABLE ${table} OWNER TO ${owner}`);
      await fresh.query(`GRANT ALL ON ${table} TO public`);
    },
    tokens: (options: Partial<TokenTableOptions> = {}, url = ours.url) =>
      new SqlTokenTable(aDatabase(url, "postgres"), { ...OWN, ...options }),
    ledger: () => sqlLedger(aDatabase(ours.url, "postgres"), LOCATION, "default", HISTORY_MS),
  };
}

test("a token table that somebody else made is refused, whatever is asked of it, with the ways out", async () => {
  const { ours, mallory, make, tokens, query } = await aSharedDatabase();
  await make(mallory.name, OWN.table);
  const store = tokens();
  const refusal = {
    code: "CONFIG_TABLE_OWNER",
    message: expect.stringContaining(`belongs to the role ${mallory.name}`),
    hint: expect.stringContaining(`tokens.owner: ${mallory.name}`),
  };
  await expect(store.inspect()).rejects.toMatchObject(refusal);
  await expect(store.prepare()).rejects.toMatchObject(refusal);
  await expect(store.destinations[0]?.holdsAny()).rejects.toMatchObject(refusal);
  await expect(store.read(["a"])).rejects.toMatchObject(refusal);
  await expect(store.destinations[0]?.owner()).rejects.toMatchObject(refusal);
  await tokens({ owner: mallory.name }).prepare();
  await query(`ALTER TABLE "public"."groupsync_tokens" OWNER TO "${ours.name}"`);
  await store.prepare();
});

test("a table in a schema that comes first in the role's path is refused", async () => {
  const { ours, mallory, make, tokens, query } = await aSharedDatabase();
  await tokens().prepare();
  await query(`CREATE SCHEMA ${ours.name} AUTHORIZATION ${mallory.name}`);
  await query(`GRANT ALL ON SCHEMA ${ours.name} TO public`);
  await make(mallory.name, `${ours.name}.groupsync_tokens`);
  await expect(tokens().prepare()).rejects.toMatchObject({ code: "CONFIG_TABLE_OWNER" });
});

test("a group role may own the table; a role that can log in is no group", async () => {
  const { ours, mallory, make, tokens, query, ...fresh } = await aSharedDatabase();
  const [group, whole] = [
    await aGroup({ ...fresh, query }, "part"),
    await aGroup({ ...fresh, query }, "all"),
  ];
  await make(whole, OWN.table);
  await expect(tokens().prepare()).rejects.toMatchObject({ code: "CONFIG_TABLE_OWNER" });
  await query(`GRANT ${whole} TO ${group}`);
  await query(`GRANT ${group} TO ${ours.name}`);
  await tokens().prepare();
  await query(`ALTER TABLE groupsync_tokens OWNER TO ${mallory.name}`);
  // Up to PostgreSQL 14 mallory may do this.
  await query(`GRANT ${mallory.name} TO ${ours.name}`);
  await expect(tokens().prepare()).rejects.toMatchObject({ code: "CONFIG_TABLE_OWNER" });
});

test("a group proves nothing if no superuser has put groupsync's role into it", async () => {
  const { ours, mallory, make, tokens, query, ...fresh } = await aSharedDatabase();
  const group = await aGroup({ ...fresh, query }, "group");
  await make(group, OWN.table);
  await query(`GRANT ${group} TO ${mallory.name} WITH ADMIN OPTION`);
  await mallory.run(`GRANT ${group} TO ${ours.name}`);
  await expect(tokens().prepare()).rejects.toMatchObject({ code: "CONFIG_TABLE_OWNER" });
  await tokens({ owner: group }).prepare();
  await mallory.run(`REVOKE ${group} FROM ${ours.name}`);
  await query(`GRANT ${group} TO ${ours.name}`);
  await tokens().prepare();
});

test("a superuser belongs to every role, and takes no more tables for that", async () => {
  const { mallory, make, tokens, url } = await aSharedDatabase();
  await make(mallory.name, OWN.table);
  await expect(tokens({}, url).prepare()).rejects.toMatchObject({ code: "CONFIG_TABLE_OWNER" });
});

test("the owner of a customers' table is trusted, and may own the marks beside it; nobody else may", async () => {
  const { ours, mallory, make, tokens, query } = await aSharedDatabase();
  await make(mallory.name, EXISTING.table, "(id text PRIMARY KEY, dashboard_token text)");
  const [at] = tokens(EXISTING).destinations;
  expect(await at?.claim(MARK, null)).toBe(true);
  await query(`ALTER TABLE groupsync_token_owners OWNER TO ${mallory.name}`);
  await query("GRANT ALL ON groupsync_token_owners TO public");
  expect(await at?.owner()).toEqual(MARK);
  await query(`ALTER TABLE customers OWNER TO ${ours.name}`);
  const [later] = tokens(EXISTING).destinations;
  await expect(later?.owner()).rejects.toMatchObject({
    code: "CONFIG_TABLE_OWNER",
    message: expect.stringContaining("groupsync_token_owners"),
  });
  await expect(later?.claim({ ...MARK, teamId: 8 }, MARK)).rejects.toMatchObject({
    code: "CONFIG_TABLE_OWNER",
  });
});

test.each(["groupsync_migrations", "groupsync_groups", "groupsync_identity"])(
  "a ledger's table %s of somebody else's is refused, also to look at",
  async (table) => {
    const { ours, mallory, make, ledger, query } = await aSharedDatabase();
    await make(mallory.name, table, "(version int)");
    const refusal = {
      code: "CONFIG_TABLE_OWNER",
      hint: expect.stringContaining(`ALTER TABLE "public"."${table}" OWNER TO "${ours.name}"`),
    };
    await expect(ledger().prepare()).rejects.toMatchObject(refusal);
    await expect(ledger().inspect()).rejects.toMatchObject(refusal);
    const view = sqlLedgerView(aDatabase(ours.url, "postgres"), LOCATION, "default");
    await expect(view.scope()).rejects.toMatchObject(refusal);
    await query(`DROP TABLE ${table}`);
    await ledger().prepare();
  },
);

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
  const { ledger, tokens: store } = await aLedgerWithTokens(as);
  const lease = await leaseOf(ledger);
  const tables = [OWN.table, "groupsync_leases", "groupsync_groups", "groupsync_migrations"];
  await shadow(tables);
  const refused = await writeTokens(
    { store, write: (body) => ledger.write(lease, body) },
    { a: "token-a" },
    { rewrite: true },
  );
  expect(refused).toEqual(new Map());
  expect(await query("SELECT token FROM public.groupsync_tokens")).toEqual([{ token: "token-a" }]);
  expect([...(await store.read(["a"])).keys()]).toEqual(["a"]);
  expect(await ledger.renewLease(lease, 60_000)).toBeUndefined();
  for (const table of tables) expect(await shadowRows(table)).toEqual([]);
});

test("tenants are read from the table that was found first", async () => {
  const { query, shadow, url } = await aPlaceInPublic();
  await query("CREATE TABLE customers (id text)");
  await query("INSERT INTO customers VALUES ('a')");
  await query("GRANT SELECT ON customers TO public");
  const snapshot = await postgresSource(url, { table: "customers" }).open(["id"], "seed", NEVER);
  onTestFinished(() => snapshot.close());
  await shadow(["customers"]);
  const rows = (await collect(snapshot.rows())).flat();
  expect(rows.map(({ cells }) => cells)).toEqual([["a"]]);
});
