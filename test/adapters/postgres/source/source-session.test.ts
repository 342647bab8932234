import { describe, expect, onTestFinished, test } from "vitest";
import { batchesOf, NEVER, rowsOf } from "../../../contracts/rows-of.ts";
import type { SourceOptions } from "../../../contracts/tenant-source.ts";
import { aRole, type Role } from "../../../support/databases/role.ts";
import { APPLICATION, postgresSource, postgresSourceDatabase } from "./source-database.ts";

const read = (url: string, options: SourceOptions = { table: "customers" }) =>
  rowsOf(postgresSource(url, options), ["id"]);

describe("a read of the source", () => {
  test("can't change anything by a query", async () => {
    const database = await postgresSourceDatabase();
    await database.create("customers", { id: "text" });
    await database.execute(
      `CREATE FUNCTION greedy() RETURNS SETOF customers LANGUAGE sql AS
       $$ INSERT INTO customers VALUES ('new') RETURNING * $$`,
    );
    for (const query of [
      "SELECT * FROM greedy()",
      "WITH new AS (INSERT INTO customers VALUES ('new') RETURNING *) SELECT * FROM new",
    ]) {
      await expect(read(database.url, { query })).rejects.toMatchObject({ code: "CONFIG_SOURCE" });
    }
    expect(await database.query("SELECT * FROM customers")).toEqual([]);
  });

  test("shows the application's name, in one read-only transaction", async () => {
    const { url } = await postgresSourceDatabase();
    const query = `SELECT 'a' AS id, current_setting('application_name') AS name,
      current_setting('transaction_read_only') AS ro, current_setting('transaction_isolation') AS isolation`;
    const rows = await rowsOf(postgresSource(url, { query }), ["id", "name", "ro", "isolation"]);
    expect(rows).toEqual([["a", APPLICATION, "on", "repeatable read"]]);
  });

  test("says why the connection was lost if the server ended it between two statements", async () => {
    const { create, query, source } = await postgresSourceDatabase();
    await create("customers", { id: "text" });
    const snapshot = await source({ table: "customers" }).open(["id"], "seed", NEVER);
    onTestFinished(() => snapshot.close());
    const others = `FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()`;
    await query(`SELECT pg_terminate_backend(pid, 5000) ${others}`, [APPLICATION]);
    await expect(snapshot.buckets()).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      message: "cannot read customers: terminating connection due to administrator command",
    });
  });

  test("fails if the server ends the connection in the middle", async () => {
    const { create, insert, query, source, sessions } = await postgresSourceDatabase();
    await create("customers", { id: "text" });
    await insert(
      "customers",
      Array.from({ length: 20_000 }, (_, index) => ({ id: `t-${index}` })),
    );
    const reading = async () => {
      let rows = 0;
      for await (const batch of batchesOf(source({ table: "customers" }), ["id"])) {
        if (rows === 0) {
          await query(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()",
            [APPLICATION],
          );
        }
        rows += batch.length;
      }
      return rows;
    };
    // Under load the reset may overtake the server's words.
    await expect(reading()).rejects.toMatchObject({
      code: "SOURCE_UNAVAILABLE",
      message: expect.stringMatching(
        /^cannot read customers: (terminat.*|.*terminated unexpectedly.*|read ECONNRESET)/i,
      ),
    });
    await expect.poll(sessions).toBe(0);
  });
});

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

  test("is an error of a look at single tenants too, or hides them there", async () => {
    const { reader } = await aHiddenRow();
    const lookUps = (rowSecurity: "error" | "filter") =>
      postgresSource(reader.url, { table: "customers", rowSecurity }).lookUps(["id"], "seed", NEVER);
    await expect(lookUps("error")).rejects.toMatchObject(refusal(reader.name));
    const some = await lookUps("filter");
    onTestFinished(() => some.close());
    expect((await some.rowsOf(["a", "b"])).map(({ cells }) => cells)).toEqual([["a"]]);
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
