import { describe, expect, test } from "vitest";
import type { SensitiveTable } from "../../../../src/adapters/sql/source/sensitive-tables.ts";
import { NEVER } from "../../../contracts/rows-of.ts";
import type { SourceOptions } from "../../../contracts/tenant-source.ts";
import { aRole, type Role } from "../../../support/databases/role.ts";
import { postgresSource, postgresSourceDatabase } from "./source-database.ts";

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
  const database = await postgresSourceDatabase();
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
  test("is nothing without a right to it", async () => {
    const { query, reader } = await aReader();
    expect(await roleOf(reader)).toMatchObject({ name: reader.name, secrets: [] });
    await query(`GRANT SELECT ON ALL TABLES IN SCHEMA vault TO ${reader.name}`);
    expect(await roleOf(reader)).toMatchObject({ secrets: [] });
    await query(`GRANT USAGE ON SCHEMA vault TO ${reader.name}`);
    expect(await roleOf(reader)).toMatchObject({ secrets: ['vault."Ledger"', "vault.tokens"] });
  });

  test.each([
    ["a right for everybody", "GRANT SELECT ON vault.tokens TO public"],
    ["a right to the token's column", "GRANT SELECT (token) ON vault.tokens TO ROLE"],
    ["a role that may read all data", "GRANT pg_read_all_data TO ROLE"],
    ["ownership", "ALTER TABLE vault.tokens OWNER TO ROLE"],
  ])("comes with %s", async (_, statement) => {
    const { query, reader } = await aReader();
    await query(`GRANT USAGE ON SCHEMA vault TO ${reader.name}`);
    await query(statement.replace("ROLE", reader.name));
    expect((await roleOf(reader)).secrets).toContain("vault.tokens");
  });

  test("is not the tokens' table with a right to another column, nor one that isn't there", async () => {
    const { query, reader } = await aReader();
    await query(`GRANT USAGE ON SCHEMA vault TO ${reader.name}`);
    await query(`GRANT SELECT (id) ON vault.tokens TO ${reader.name}`);
    const missing = { schema: "vault", table: "groups" };
    const options = { table: "customers" };
    expect(await roleOf(reader, options, [...SECRETS, missing])).toMatchObject({ secrets: [] });
  });

  test("comes with membership in the owner, also if that has to be taken up first", async () => {
    const { query, database, reader } = await aReader();
    const owner = await aRole(database);
    await query(`ALTER TABLE vault.tokens OWNER TO ${owner.name}`);
    await query(`ALTER ROLE ${reader.name} NOINHERIT`);
    await query(`GRANT ${owner.name} TO ${reader.name}`);
    expect(await roleOf(reader)).toMatchObject({ secrets: ["vault.tokens"] });
  });

  test("is everything for a superuser", async () => {
    const { query, reader } = await aReader();
    await query(`ALTER ROLE ${reader.name} SUPERUSER`);
    expect((await roleOf(reader)).secrets).toHaveLength(2);
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
  const SQL: readonly SourceOptions[] = [
    { query: "SELECT id FROM customers" },
    { table: "customers", where: "id <> 'x'" },
    { table: "customers", removedWhen: "id = 'x'" },
  ];
  const identifiersOf = async (...asked: Parameters<typeof roleOf>) =>
    (await roleOf(...asked)).openSchemas.map(({ name }) => name);

  test("is named with its REVOKE, which closes it", async () => {
    const { query, database, reader } = await aReader();
    const other = await aRole(database);
    await query(`GRANT CREATE ON SCHEMA public TO public, ${other.name}`);
    for (const options of SQL) {
      const [schema] = (await roleOf(reader, options)).openSchemas;
      expect(schema).toMatchObject({
        name: "public",
        remedy: expect.stringContaining(`SCHEMA "public" FROM "${other.name}", PUBLIC; or `),
      });
    }
    const [schema] = (await roleOf(reader, SQL[0])).openSchemas;
    await query(schema?.remedy.split("; or ")[0] ?? "");
    expect(await identifiersOf(reader, SQL[0])).toEqual([]);
  });

  test("is left out by another path", async () => {
    const { query, reader } = await aReader();
    await query("GRANT CREATE ON SCHEMA public TO public");
    const options = { table: "public.customers", where: "id <> 'x'" };
    const [schema] = (await roleOf(reader, options)).openSchemas;
    await query(schema?.remedy.split(", and ")[1] ?? "");
    expect(await identifiersOf(reader, options)).toEqual([]);
  });

  test("is none to a table without SQL of the config", async () => {
    const { query, reader } = await aReader();
    await query("GRANT CREATE ON SCHEMA public TO public");
    expect(await identifiersOf(reader)).toEqual([]);
  });

  test("is not one that only its owner, this role or a superuser may create in", async () => {
    const { query, database, reader } = await aReader();
    const [owner, chief] = [await aRole(database), await aRole(database)];
    await query(`ALTER ROLE ${chief.name} SUPERUSER`);
    await query(`CREATE SCHEMA ${reader.name} AUTHORIZATION ${owner.name}`);
    await query(`GRANT USAGE, CREATE ON SCHEMA ${reader.name} TO ${reader.name}, ${chief.name}`);
    expect(await identifiersOf(reader, SQL[0])).toEqual([]);
    const other = await aRole(database);
    await query(`GRANT CREATE ON SCHEMA ${reader.name} TO ${other.name}`);
    expect(await identifiersOf(reader, SQL[0])).toEqual([reader.name]);
  });

  test("is told by the server's own functions and operators alone", async () => {
    const { query, reader } = await aReader();
    await query("GRANT CREATE ON SCHEMA public TO public");
    await query(
      "CREATE FUNCTION public.never(name, name) RETURNS boolean LANGUAGE sql AS 'SELECT pg_catalog.pg_sleep(0) IS NULL'",
    );
    await query("CREATE OPERATOR public.= (LEFTARG = name, RIGHTARG = name, FUNCTION = public.never)");
    await query(`ALTER ROLE ${reader.name} SET search_path = public, pg_catalog`);
    expect(await identifiersOf(reader, { query: "SELECT id FROM customers" })).toEqual(["public"]);
  });
});
