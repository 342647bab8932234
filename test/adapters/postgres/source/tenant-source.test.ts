import { describe, expect, test } from "vitest";
import type { SensitiveTable } from "../../../../src/adapters/sql/source/sensitive-tables.ts";
import { NEVER, rowsOf } from "../../../contracts/rows-of.ts";
import type { SourceOptions } from "../../../contracts/tenant-source.ts";
import { aRole, type Role } from "../../../support/databases/role.ts";
import { postgresSource, sourceDatabase } from "../../sql/source/source-database.ts";

const read = (url: string, options: SourceOptions = { table: "customers" }) =>
  rowsOf(postgresSource(url, options), ["id"]);

describe("the error of a failed read says why, and what to do:", () => {
  test("a schema that isn't there", async () => {
    const { url } = await sourceDatabase("postgres");
    await expect(read(url, { table: "sales.customers" })).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      message: expect.stringContaining('relation "sales.customers" does not exist'),
      hint: expect.stringContaining("schema"),
    });
  });

  test("a schema that the role may not use, and a table in it", async () => {
    const database = await sourceDatabase("postgres");
    await database.query('CREATE SCHEMA "My Sales"');
    await database.query('CREATE TABLE "My Sales".customers (id text)');
    const { name, url } = await aRole(database);
    const table = '"My Sales".customers';
    const hints = [
      `GRANT USAGE ON SCHEMA "My Sales" TO "${name}"`,
      `GRANT SELECT ON "My Sales"."customers" TO "${name}"`,
    ];
    for (const hint of hints) {
      await expect(read(url, { table })).rejects.toMatchObject({ code: "SOURCE_UNAVAILABLE", hint });
      await database.query(hint);
    }
    await read(url, { table });
  });

  test("a view whose owner may not read its table", async () => {
    const database = await sourceDatabase("postgres");
    await database.create("accounts", { id: "text" });
    await database.query("CREATE VIEW customers AS SELECT * FROM accounts");
    const { name, url } = await aRole(database);
    const owner = await aRole(database);
    await database.query(`GRANT SELECT ON customers TO ${name}`);
    await database.query(`GRANT CREATE ON SCHEMA public TO ${owner.name}`);
    await database.query(`ALTER VIEW customers OWNER TO ${owner.name}`);
    await expect(read(url)).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      hint: expect.stringMatching(
        new RegExp(
          `^find out why customers needs that.*grant the right to ${name}, or to the owner of the view`,
        ),
      ),
    });
  });

  test("data that the query stumbles over", async () => {
    const database = await sourceDatabase("postgres");
    await database.create("customers", { id: "text" });
    await database.insert("customers", [{ id: "a" }]);
    await expect(read(database.url, { table: "customers", where: "id::int > 0" })).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      message: 'cannot read customers: invalid input syntax for type integer: "a"',
    });
  });

  test("a flag that is no condition", async () => {
    const database = await sourceDatabase("postgres");
    await database.create("customers", { id: "text", deleted_at: "timestamp" });
    await expect(read(database.url, { table: "customers", removedWhen: "deleted_at" })).rejects.toMatchObject(
      {
        code: "CONFIG_SOURCE",
        message: expect.stringContaining("must be type boolean, not type timestamp"),
        hint: expect.stringContaining("source.removed_when"),
      },
    );
  });
});

const SECRETS: readonly SensitiveTable[] = [
  { schema: "vault", table: "tokens", column: "token" },
  { schema: "vault", table: "Ledger" },
];

async function roleOf({ url }: Role, options: SourceOptions = { table: "customers" }, secrets = SECRETS) {
  const source = postgresSource(url, { ...options, sensitiveTables: async () => secrets });
  const snapshot = await source.open(["id"], "seed", NEVER);
  try {
    return await snapshot.role();
  } finally {
    await snapshot.close();
  }
}

/** Customers, a role that may read them, and tokens and a ledger in a schema of their own. */
async function aReader() {
  const database = await sourceDatabase("postgres");
  const { query } = database;
  await query("CREATE TABLE customers (id text, token text)");
  const reader = await aRole(database);
  await reader.grant("SELECT");
  await query("CREATE SCHEMA vault");
  await query("CREATE TABLE vault.tokens (id text, token text)");
  await query('CREATE TABLE vault."Ledger" (id text, intent text)');
  return { query, database, reader };
}

describe("what the role that reads the source can read of tokens and ledger", () => {
  const USAGE = "GRANT USAGE ON SCHEMA vault TO READER";
  const ALL = "GRANT SELECT ON ALL TABLES IN SCHEMA vault TO READER";
  const BOTH = ['vault."Ledger"', "vault.tokens"];
  const TOKENS = ["vault.tokens"];

  test.each<[what: string, statements: readonly string[], secrets: readonly string[]]>([
    ["nothing without a right to it", [], []],
    ["nothing without a right to the schema", [ALL], []],
    ["what is granted", [ALL, USAGE], BOTH],
    ["what is granted to everybody", [USAGE, "GRANT SELECT ON vault.tokens TO public"], TOKENS],
    ["the tokens by their column", [USAGE, "GRANT SELECT (token) ON vault.tokens TO READER"], TOKENS],
    ["no tokens by another column", [USAGE, "GRANT SELECT (id) ON vault.tokens TO READER"], []],
    ["all of it by a role that reads all data", [USAGE, "GRANT pg_read_all_data TO READER"], BOTH],
    ["what is its own", [USAGE, "ALTER TABLE vault.tokens OWNER TO READER"], TOKENS],
    [
      "what belongs to a role that it can take up",
      [
        "ALTER TABLE vault.tokens OWNER TO SOMEBODY",
        "ALTER ROLE READER NOINHERIT",
        "GRANT SOMEBODY TO READER",
      ],
      TOKENS,
    ],
    ["all of it as a superuser", ["ALTER ROLE READER SUPERUSER"], BOTH],
  ])("is %s", async (_, statements, secrets) => {
    const { query, database, reader } = await aReader();
    const owner = await aRole(database);
    for (const statement of statements)
      await query(statement.replace("READER", reader.name).replace("SOMEBODY", owner.name));
    const missing = { schema: "vault", table: "groups" };
    const role = await roleOf(reader, { table: "customers" }, [...SECRETS, missing]);
    expect(role).toMatchObject({ name: reader.name, secrets });
  });

  test("is a column of the customers' own table", async () => {
    const { reader } = await aReader();
    const secrets = [{ schema: "public", table: "customers", column: "token" }];
    expect(await roleOf(reader, { table: "customers" }, secrets)).toMatchObject({
      secrets: ["public.customers"],
    });
  });
});

describe("a schema of the path in which others may create functions", () => {
  const QUERY = { query: "SELECT id FROM customers" };
  const openTo = async (reader: Role, options: SourceOptions = QUERY) =>
    (await roleOf(reader, options)).openSchemas;

  test("is named if the config has SQL, unless the path leaves it out", async () => {
    const { query, reader } = await aReader();
    await query("GRANT CREATE ON SCHEMA public TO public");
    expect(await openTo(reader)).toEqual(["public"]);
    const table = "public.customers";
    for (const options of [{ where: "id <> 'x'" }, { removedWhen: "id = 'x'" }, { readyWhen: "id = 'x'" }])
      expect(await openTo(reader, { table, ...options })).toEqual(["public"]);
    expect(await openTo(reader, { table })).toEqual([]);
    await query(`ALTER ROLE ${reader.name} SET search_path = pg_catalog`);
    expect(await openTo(reader, { table, where: "id <> 'x'" })).toEqual([]);
  });

  test("is not one that only its owner, this role or a superuser may create in", async () => {
    const { query, database, reader } = await aReader();
    const [owner, chief] = [await aRole(database), await aRole(database)];
    await query(`ALTER ROLE ${chief.name} SUPERUSER`);
    await query(`CREATE SCHEMA ${reader.name} AUTHORIZATION ${owner.name}`);
    await query(`GRANT USAGE, CREATE ON SCHEMA ${reader.name} TO ${reader.name}, ${chief.name}`);
    expect(await openTo(reader)).toEqual([]);
    const other = await aRole(database);
    await query(`GRANT CREATE ON SCHEMA ${reader.name} TO ${other.name}`);
    expect(await openTo(reader)).toEqual([reader.name]);
  });

  test("is told by the server's own functions and operators alone", async () => {
    const { query, reader } = await aReader();
    await query("GRANT CREATE ON SCHEMA public TO public");
    await query(
      "CREATE FUNCTION public.never(name, name) RETURNS boolean LANGUAGE sql AS 'SELECT pg_catalog.pg_sleep(0) IS NULL'",
    );
    await query("CREATE OPERATOR public.= (LEFTARG = name, RIGHTARG = name, FUNCTION = public.never)");
    await query(`ALTER ROLE ${reader.name} SET search_path = public, pg_catalog`);
    expect(await openTo(reader)).toEqual(["public"]);
  });
});
