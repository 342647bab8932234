import { readFile } from "node:fs/promises";
import { expect, inject, onTestFinished, test } from "vitest";
import type { FreshDatabase } from "../../support/databases/fresh-database.ts";
import { aRole, makerOf, type Role } from "../../support/databases/role.ts";
import { aWorld, until } from "../world.ts";
import { aNewcomer } from "./newcomer.ts";

const kind = inject("databaseKind");

/** The names of a stranger's functions that anybody has called. */
async function calledOf({ query }: FreshDatabase, { name }: Role): Promise<readonly string[]> {
  const rows = await query<{ name: string }>(
    `SELECT funcid::regprocedure::text AS name FROM pg_stat_user_functions JOIN pg_proc AS p ON p.oid = funcid
     WHERE calls > 0 AND p.proowner = $1::regrole`,
    [name],
  );
  return rows.map((row) => row.name);
}

/** What each table of a stranger's schema would run in the session of whoever reads it. */
const TRAPS: Readonly<Record<string, readonly string[]>> = {
  "a type named uuid, with a cast to text": [
    "CREATE TYPE theirs.uuid AS (x int)",
    `CREATE FUNCTION theirs.cast_to_text(theirs.uuid) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN ''x''; END'`,
    "CREATE CAST (theirs.uuid AS text) WITH FUNCTION theirs.cast_to_text(theirs.uuid)",
    "CREATE TABLE theirs.tenants (id theirs.uuid PRIMARY KEY, name text NOT NULL)",
    "INSERT INTO theirs.tenants VALUES (ROW(1), 'Theirs')",
  ],
  "an index whose predicate the planner computes": [
    "CREATE TABLE theirs.tenants (id text PRIMARY KEY, name text NOT NULL)",
    "INSERT INTO theirs.tenants VALUES ('1', 'Theirs')",
    `CREATE FUNCTION theirs.is_open() RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN true; END'`,
    "CREATE INDEX ON theirs.tenants (name) WHERE theirs.is_open()",
  ],
  "a view": [
    `CREATE FUNCTION theirs.named() RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN ''x''; END'`,
    "CREATE VIEW theirs.tenants AS SELECT 1 AS tenant_id, theirs.named() AS name",
  ],
};

async function aStranger(database: FreshDatabase, trap: readonly string[]): Promise<Role> {
  const stranger = await aRole(database);
  await database.query(`ALTER DATABASE ${database.name} SET track_functions = 'all'`);
  await database.query(`GRANT CREATE ON DATABASE ${database.name} TO ${stranger.name}`);
  await stranger.run(
    "CREATE SCHEMA theirs",
    ...trap,
    "GRANT USAGE ON SCHEMA theirs TO PUBLIC",
    "GRANT SELECT ON theirs.tenants TO PUBLIC",
  );
  // A session counts its calls when it ends.
  await until(async () => {
    const left = await database.query("SELECT FROM pg_stat_activity WHERE usename = $1", [stranger.name]);
    return left.length === 0;
  });
  await database.query("SELECT pg_stat_reset()");
  onTestFinished(async () => {
    await database.query("DROP SCHEMA theirs CASCADE");
  });
  return stranger;
}

test.skipIf(kind !== "postgres").each(Object.entries(TRAPS))(
  "nothing of a stranger's runs before somebody names the table with its schema: %s",
  async (_, trap) => {
    const world = await aWorld({ tenants: 1 });
    const { database } = world;
    const stranger = await aStranger(database, trap);
    // A role that can log in is no group. Up to PostgreSQL 14 the stranger may do this.
    await database.query(`GRANT ${stranger.name} TO ${makerOf(database)}`);
    // The stranger's table looks more like tenants.
    await database.query("ALTER TABLE customers RENAME TO base");
    const newcomer = await aNewcomer(world);
    for (const flags of [[], ["--table", "tenants"], ["--table", "tenants", "--id", "id"]]) {
      await newcomer.discard();
      await newcomer.init(...flags);
    }
    // Without a table of the user's own, the stranger's is the best.
    await database.query("DROP TABLE base");
    await newcomer.discard();
    const { code, stderr } = await newcomer.init();
    expect(code).toBe(78);
    expect(stderr).toContain("theirs.tenants");
    expect(await calledOf(database, stranger)).toEqual([]);
  },
);

test.skipIf(kind !== "postgres")("a name that is there twice is refused, with the owners", async () => {
  const world = await aWorld({ tenants: 1 });
  const { database } = world;
  await database.query("ALTER TABLE customers RENAME TO tenants");
  const stranger = await aStranger(database, TRAPS["a view"] ?? []);
  const newcomer = await aNewcomer(world);
  const { code, stdout, stderr } = await newcomer.init("--table", "tenants");
  expect(code).toBe(78);
  expect(stdout + stderr).toContain(`theirs.tenants (owner ${stranger.name})`);
  expect(stdout + stderr).toContain("public.tenants (owner ");
  expect(await calledOf(database, stranger)).toEqual([]);

  const named = await newcomer.init("--table", "public.tenants");
  expect(named).toMatchObject({ code: 0 });
  expect(await readFile(newcomer.configFile, "utf8")).toContain("table: public.tenants\n");
});

test.skipIf(kind !== "mysql")(
  "a view of another definer is taken if it is named with its schema, and is not read",
  async () => {
    const world = await aWorld({ tenants: 1 });
    const { database } = world;
    const stranger = await aRole(database);
    await database.query(
      `GRANT SELECT, CREATE VIEW, CREATE ROUTINE, EXECUTE ON ${database.name}.* TO ${stranger.name}`,
    );
    await stranger.run(
      `CREATE FUNCTION planted() RETURNS text DETERMINISTIC SQL SECURITY INVOKER
       BEGIN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'planted'; RETURN 'x'; END`,
      "CREATE SQL SECURITY INVOKER VIEW tenants AS SELECT id AS tenant_id, planted() AS name FROM customers",
    );
    const newcomer = await aNewcomer(world);
    const bare = await newcomer.init("--table", "tenants");
    expect(bare.code).toBe(78);
    expect(bare.stderr).toContain(`tenants (owner ${stranger.name}@%)`);
    expect(bare.stdout + bare.stderr).not.toContain("planted");
    const named = await newcomer.init("--table", `${database.name}.tenants`);
    expect(named).toMatchObject({ code: 0, stderr: "" });
    expect(named.stdout).not.toContain("planted");
  },
);
