import { expect, test } from "vitest";
import { NEVER } from "../../../contracts/rows-of.ts";
import { aRole, type Role } from "../../../support/databases/role.ts";
import { mysqlSource, mysqlSourceDatabase } from "./source-database.ts";

/** Customers, a user that may read them, and tokens and a ledger. */
async function aReader() {
  const { query, ...database } = await mysqlSourceDatabase();
  const { name: schema } = database;
  for (const table of ["customers", "tokens", "ledger"])
    await query(`CREATE TABLE ${table} (id varchar(10), token text)`);
  const reader = await aRole({ ...database, query });
  await query(`GRANT SELECT ON customers TO ${reader.name}`);
  const secrets = [
    { schema, table: "tokens", column: "token" },
    { schema, table: "ledger" },
    { schema, table: "nothing" },
    { schema: "nowhere", table: "tokens", column: "token" },
  ];
  const secretsOf = async ({ url }: Pick<Role, "url">) => {
    const source = mysqlSource(url, { table: "customers", sensitiveTables: async () => secrets });
    const snapshot = await source.open(["id"], "seed", NEVER);
    try {
      return await snapshot.role();
    } finally {
      await snapshot.close();
    }
  };
  return { query, schema, url: database.url, reader, secretsOf };
}

test("a user that reads the source can read no token and no ledger without a right to it", async () => {
  const { query, reader, secretsOf } = await aReader();
  await query(`GRANT INSERT, UPDATE, DELETE ON tokens TO ${reader.name}`);
  await query(`GRANT SELECT (id) ON tokens TO ${reader.name}`);
  expect(await secretsOf(reader)).toEqual({ name: `${reader.name}@%`, secrets: [], openSchemas: [] });
});

test.each([
  ["the table", "GRANT SELECT ON tokens TO ROLE"],
  ["the token's column", "GRANT SELECT (token) ON tokens TO ROLE"],
])("a right to %s is seen", async (_, statement) => {
  const { query, schema, reader, secretsOf } = await aReader();
  await query(statement.replace("ROLE", reader.name));
  expect(await secretsOf(reader)).toMatchObject({ secrets: [`${schema}.tokens`] });
});

test("so is one to the whole database", async () => {
  const { schema, url, reader, secretsOf } = await aReader();
  await reader.grant("SELECT");
  const all = { secrets: [`${schema}.ledger`, `${schema}.tokens`] };
  expect(await secretsOf(reader)).toMatchObject(all);
  expect(await secretsOf({ url })).toMatchObject(all);
});
