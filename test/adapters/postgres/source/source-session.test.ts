import { describe, expect, onTestFinished, test } from "vitest";
import { NEVER, rowsOf } from "../../../contracts/rows-of.ts";
import type { SourceOptions } from "../../../contracts/tenant-source.ts";
import { aRole, type Role } from "../../../support/databases/role.ts";
import { APPLICATION, postgresSource, sourceDatabase } from "../../sql/source/source-database.ts";

describe("a read of the source", () => {
  test("shows the application's name, in one read-only transaction", async () => {
    const { url } = await sourceDatabase("postgres");
    const query = `SELECT 'a' AS id, current_setting('application_name') AS name,
      current_setting('transaction_read_only') AS ro, current_setting('transaction_isolation') AS isolation`;
    const rows = await rowsOf(postgresSource(url, { query }), ["id", "name", "ro", "isolation"]);
    expect(rows).toEqual([["a", APPLICATION, "on", "repeatable read"]]);
  });
});

/** Customers `a` and `b`, and a role that may read them; a policy hides `b`. */
async function aHiddenRow() {
  const database = await sourceDatabase("postgres");
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
  const FUNCTION =
    "CREATE FUNCTION all_of_them() RETURNS SETOF customers STABLE LANGUAGE sql AS 'SELECT * FROM customers'";
  const VIEW = "CREATE VIEW tenants AS SELECT * FROM customers; GRANT SELECT ON tenants TO READER";
  const INVOKER = VIEW.replace("AS SELECT", "WITH (security_invoker) AS SELECT");
  const OWNED = "ALTER TABLE customers OWNER TO READER";

  test.each<[what: string, statements: readonly string[], options: SourceOptions, ids: string[] | null]>([
    ["is an error", [], { table: "customers" }, null],
    [
      "is one too if the role has the setting on, and in the query of a function",
      ["ALTER ROLE READER SET row_security = on", FUNCTION],
      { query: "SELECT id FROM all_of_them()" },
      null,
    ],
    [
      "is the operator's will with row_security: filter",
      ["ALTER ROLE READER SET row_security = off"],
      { table: "customers", rowSecurity: "filter" },
      ["a"],
    ],
    [
      "hides none from a role that policies don't hold for",
      ["ALTER ROLE READER BYPASSRLS"],
      { table: "customers" },
      ["a", "b"],
    ],
    ["hides none from the table's owner", [OWNED], { table: "customers" }, ["a", "b"]],
    [
      "is an error for an owner on whom it is forced",
      [OWNED, "ALTER TABLE customers FORCE ROW LEVEL SECURITY"],
      { table: "customers" },
      null,
    ],
    ["hides none behind a view of another owner", [VIEW], { table: "tenants" }, ["a", "b"]],
    ["is an error behind a view that reads as whoever asks", [INVOKER], { table: "tenants" }, null],
  ])("%s", async (_, statements, options, ids) => {
    const { database, reader } = await aHiddenRow();
    for (const statement of statements) await database.query(statement.replace("READER", reader.name));
    if (ids) expect(await idsOf(reader, options)).toEqual(ids);
    else await expect(idsOf(reader, options)).rejects.toMatchObject(refusal(reader.name));
  });

  test("is an error of a lookup of single tenants too, or hides them there", async () => {
    const { reader } = await aHiddenRow();
    const lookups = (rowSecurity: "error" | "filter") =>
      postgresSource(reader.url, { table: "customers", rowSecurity }).lookups(["id"], "seed", NEVER);
    await expect(lookups("error")).rejects.toMatchObject(refusal(reader.name));
    const some = await lookups("filter");
    onTestFinished(() => some.close());
    expect((await some.rowsOf(["a", "b"])).map(({ cells }) => cells)).toEqual([["a"]]);
  });
});
