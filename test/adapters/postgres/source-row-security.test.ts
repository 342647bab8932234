import { describe, expect, test } from "vitest";
import { rowsOf } from "../../contracts/rows-of.ts";
import type { SourceOptions } from "../../contracts/tenant-source.ts";
import { aRole, type Role } from "../../support/role.ts";
import { postgresSource, postgresSourceDatabase } from "./source-database.ts";

/** Customers `a` and `b`, and a role that may read them; a policy hides `b`. */
async function aHiddenRow() {
  const database = await postgresSourceDatabase();
  await database.create("customers", { id: "text" });
  await database.insert("customers", [{ id: "a" }, { id: "b" }]);
  const reader = await aRole(database);
  await reader.grant("SELECT");
  await database.query("ALTER TABLE customers ENABLE ROW LEVEL SECURITY");
  await database.query("CREATE POLICY own ON customers USING (id = 'a')");
  return { database, reader };
}

const idsOf = async ({ url }: Role, options: SourceOptions = { table: "customers" }) =>
  (await rowsOf(postgresSource(url, options), ["id"])).flat();

const refusal = (role: string) => ({
  code: "SOURCE_UNAVAILABLE",
  message: expect.stringContaining('row-level security policy for table "customers"'),
  hint: expect.stringMatching(new RegExp(`ALTER ROLE "${role}" BYPASSRLS.*source.row_security: filter`)),
});

describe("a policy that may hide tenants", () => {
  test("is an error", async () => {
    const { reader } = await aHiddenRow();
    await expect(idsOf(reader)).rejects.toMatchObject(refusal(reader.name));
  });

  test("is one too where the role itself has the setting on, and in the query of a function", async () => {
    const { database, reader } = await aHiddenRow();
    await database.query(`ALTER ROLE ${reader.name} SET row_security = on`);
    await database.query(
      "CREATE FUNCTION all_of_them() RETURNS SETOF customers STABLE LANGUAGE sql AS 'SELECT * FROM customers'",
    );
    const query = "SELECT id FROM all_of_them()";
    await expect(idsOf(reader, { query })).rejects.toMatchObject(refusal(reader.name));
  });

  test("is the operator's will with row_security: filter", async () => {
    const { database, reader } = await aHiddenRow();
    await database.query(`ALTER ROLE ${reader.name} SET row_security = off`);
    expect(await idsOf(reader, { table: "customers", rowSecurity: "filter" })).toEqual(["a"]);
  });

  test("hides none from a role that policies don't hold for", async () => {
    const { database, reader } = await aHiddenRow();
    await database.query(`ALTER ROLE ${reader.name} BYPASSRLS`);
    expect(await idsOf(reader)).toEqual(["a", "b"]);
  });

  test("hides none from the table's owner, unless it is forced on it", async () => {
    const { database, reader } = await aHiddenRow();
    await database.query(`ALTER TABLE customers OWNER TO ${reader.name}`);
    expect(await idsOf(reader)).toEqual(["a", "b"]);
    await database.query("ALTER TABLE customers FORCE ROW LEVEL SECURITY");
    await expect(idsOf(reader)).rejects.toMatchObject(refusal(reader.name));
  });

  test("hides none behind a view, unless from the view's owner", async () => {
    const { database, reader } = await aHiddenRow();
    await database.query("CREATE VIEW tenants AS SELECT * FROM customers");
    await database.query(`GRANT SELECT ON tenants TO ${reader.name}`);
    expect(await idsOf(reader, { table: "tenants" })).toEqual(["a", "b"]);

    const owner = await aRole(database);
    await owner.grant("SELECT");
    await database.query(`GRANT CREATE ON SCHEMA public TO ${owner.name}`);
    await database.query(`ALTER VIEW tenants OWNER TO ${owner.name}`);
    await expect(idsOf(reader, { table: "tenants" })).rejects.toMatchObject(refusal(reader.name));
  });

  test("hides some behind a view that reads as whoever asks", async () => {
    const { database, reader } = await aHiddenRow();
    await database.query("CREATE VIEW tenants WITH (security_invoker) AS SELECT * FROM customers");
    await database.query(`GRANT SELECT ON tenants TO ${reader.name}`);
    await expect(idsOf(reader, { table: "tenants" })).rejects.toMatchObject(refusal(reader.name));
  });
});
