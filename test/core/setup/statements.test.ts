import { describe, expect, test } from "vitest";
import type { CatalogTable } from "../../../src/core/setup/catalog.ts";
import { indexName, statements } from "../../../src/core/setup/statements.ts";
import { aColumn, aLink, aTable } from "../../builders/catalog.ts";
import { aSetup } from "./a-setup.ts";

const postgres = (table: CatalogTable, database = "shop"): string => statements(aSetup(table, { database }));
const mysql = (table: CatalogTable, database = "shop"): string =>
  statements(aSetup(table, { dialect: "mysql", database }));

/** What the database runs: everything but comments. */
const run = (sql: string): string => sql.replace(/^ *--.*$/gm, "");

const UPDATED = aColumn("updated_at", { kind: "timestamp" });

describe.each([
  ["postgres", postgres],
  ["mysql", mysql],
])("on %s", (name, statementsFor) => {
  test("the reader gets SELECT on the columns that the config uses, and the writer nothing there", () => {
    const deleted = aColumn("deleted_at", { kind: "timestamp", isNullable: true });
    const columns = ["warehouse", "plan", "token"].map((name) => aColumn(name));
    const grants = run(statementsFor(aTable("customers", [...columns, deleted, UPDATED]))).match(
      /^GRANT .*$/gm,
    );
    const onTenants = grants
      ?.filter((grant) => /customers/.test(grant))
      .map((one) => one.replace(/["`]|@'%'/g, ""));
    expect(onTenants).toEqual([
      "GRANT SELECT (id, name, warehouse, deleted_at, updated_at) ON public.customers TO groupsync_reader;",
    ]);
    expect(grants?.filter((grant) => /\bALL\b|\*\.\*|WITH GRANT/.test(grant))).toEqual([]);
  });

  test("the rights for what stands in the config as a comment are comments", () => {
    const table = aTable("customers", [aColumn("status")]);
    const child = aTable("workspaces", [aLink("customer_id", table), aColumn("warehouse")], {
      schema: "apart",
    });
    const dialect = name as "postgres" | "mysql";
    const sql = statements(aSetup(table, { dialect }, {}, [child])).replace(/["`]/g, "");
    const reader = dialect === "postgres" ? "groupsync_reader" : "groupsync_reader@'%'";
    expect(sql.match(/^-- (GRANT|CREATE INDEX) .*$/gm)?.filter((line) => /public|apart/.test(line))).toEqual([
      `-- GRANT SELECT (status) ON public.customers TO ${reader};`,
      ...(dialect === "postgres" ? [`-- GRANT USAGE ON SCHEMA apart TO ${reader};`] : []),
      `-- GRANT SELECT (customer_id, warehouse) ON apart.workspaces TO ${reader};`,
      ...(dialect === "postgres" ? ["-- CREATE INDEX ON apart.workspaces (customer_id);"] : []),
    ]);
    expect(run(sql)).toContain(`GRANT SELECT (id, name) ON public.customers TO ${reader};`);
    expect(run(sql)).not.toMatch(/apart|status/);
  });

  test("no statement has a password", () => {
    expect(run(statementsFor(aTable("customers")))).not.toMatch(/PASSWORD|IDENTIFIED/);
  });

  test("an index is made for a change column without one", () => {
    const indexed = aTable("customers", [{ ...UPDATED, isIndexed: true }]);
    expect(run(statementsFor(aTable("customers", [UPDATED])))).toContain("CREATE INDEX");
    expect(run(statementsFor(indexed))).not.toContain("CREATE INDEX");
    expect(run(statementsFor({ ...aTable("customers", [UPDATED]), kind: "view" }))).not.toContain(
      "CREATE INDEX",
    );
  });

  test("a name with a line break stays in its comment", () => {
    expect(statementsFor(aTable("customers"), "sh\nop")).toContain("database sh\\nop. Written by");
  });
});

test("on MySQL the accounts log in from any host, or from the one that was chosen", () => {
  const customers = aTable("customers");
  const chosen = statements(aSetup(customers, { dialect: "mysql", accountHost: "10.20.%" }));
  expect(mysql(customers)).toContain("CREATE USER IF NOT EXISTS groupsync_reader@'%' ACCOUNT LOCK;");
  const accounts = run(chosen).match(/\bgroupsync(_reader)?@\S+/g);
  expect(accounts).toHaveLength(6);
  expect(accounts?.filter((account) => !/@'10\.20\.%';?$/.test(account))).toEqual([]);
});

test("the reader of a view on PostgreSQL keeps the search_path for the view's functions", () => {
  const view = { ...aTable("customers"), kind: "view" } as const;
  expect(run(postgres(aTable("customers")))).toContain("SET search_path = pg_catalog;");
  expect(run(postgres(view))).not.toContain("search_path");
});

test.each([
  ["Customers & Co", "customers_co"],
  ["2024_customers", "tenants"],
  ["顧客", "tenants"],
  ["x".repeat(63), "x".repeat(30)],
])("the index of the table %s is called %s_…", (name, plain) => {
  expect(indexName({ name })).toBe(`${plain}_groupsync_changes`);
});
