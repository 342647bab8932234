import { describe, expect, test } from "vitest";
import type { CatalogTable } from "../../../src/core/proposal/catalog.ts";
import { mysqlStatements } from "../../../src/core/setup/mysql-statements.ts";
import { postgresStatements } from "../../../src/core/setup/postgres-statements.ts";
import { fewRows, plainName } from "../../../src/core/setup/setup.ts";
import { aColumn, aTable } from "../../builders/catalog.ts";
import { aSetup } from "./a-setup.ts";

const postgres = (table: CatalogTable, database = "shop"): string =>
  postgresStatements(aSetup(table, { database }));
const mysql = (table: CatalogTable, database = "shop"): string =>
  mysqlStatements(aSetup(table, { dialect: "mysql", database }));

/** What the database runs: everything but comments. */
const run = (sql: string): string => sql.replace(/^ *--.*$/gm, "");

const UPDATED = aColumn("updated_at", { kind: "timestamp" });

describe.each([
  ["postgres", postgres],
  ["mysql", mysql],
])("on %s", (_, statements) => {
  test("the reader gets SELECT on the columns that the config uses, and the writer nothing there", () => {
    const deleted = aColumn("deleted_at", { kind: "timestamp", isNullable: true });
    const columns = ["warehouse", "plan", "contact_email", "founder", "token"].map((name) => aColumn(name));
    const grants = run(statements(aTable("customers", [...columns, deleted, UPDATED]))).match(/^GRANT .*$/gm);
    const onTenants = grants
      ?.filter((grant) => /customers/.test(grant))
      .map((one) => one.replace(/["`]/g, ""));
    expect(onTenants).toEqual([
      "GRANT SELECT (id, name, warehouse, plan, deleted_at, updated_at) ON public.customers TO groupsync_reader;",
    ]);
    expect(grants?.filter((grant) => /\bALL\b|\*\.\*|WITH GRANT/.test(grant))).toEqual([]);
  });

  test("no statement has a password", () => {
    expect(run(statements(aTable("customers")))).not.toMatch(/PASSWORD|IDENTIFIED/);
  });

  test("an index is made for a change column without one", () => {
    const indexed = aTable("customers", [{ ...UPDATED, isIndexed: true }]);
    expect(run(statements(aTable("customers", [UPDATED])))).toContain("CREATE INDEX");
    expect(run(statements(indexed))).not.toContain("CREATE INDEX");
    expect(run(statements({ ...aTable("customers", [UPDATED]), kind: "view" }))).not.toContain(
      "CREATE INDEX",
    );
  });

  test("a name with a line break stays in its comment", () => {
    expect(statements(aTable("customers"), "sh\nop")).toContain("database sh\\nop. Written by");
  });
});

test("a view on PostgreSQL has no trigger, and its reader keeps the search_path for its functions", () => {
  const view = { ...aTable("customers"), kind: "view" } as const;
  expect(run(postgres(aTable("customers")))).toMatch(/SET search_path = pg_catalog;.*CREATE TRIGGER/s);
  expect(run(postgres(view))).not.toMatch(/search_path|TRIGGER|FUNCTION/);
});

test("the index of a partitioned table is made in the only way that PostgreSQL has for it", () => {
  const table = aTable("customers", [UPDATED]);
  expect(run(postgres(table))).toContain(
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS customers_groupsync_changes ON",
  );
  const partitioned = postgres({ ...table, isPartitioned: true });
  expect(run(partitioned)).toContain("CREATE INDEX IF NOT EXISTS customers_groupsync_changes ON");
  expect(partitioned).toContain("whoever writes to the table waits");
});

test("policies that may hide tenants are a choice, which nobody makes unasked", () => {
  const sql = postgres({ ...aTable("customers"), hasPolicies: true });
  expect(sql).toContain("-- ALTER ROLE groupsync_reader BYPASSRLS;");
  expect(run(sql)).not.toContain("BYPASSRLS");
});

test.each([
  ["Customers & Co", "customers_co"],
  ["2024_customers", "tenants"],
  ["顧客", "tenants"],
  ["x".repeat(63), "x".repeat(30)],
])("what belongs to the table %s is called %s_…", (name, plain) => {
  expect(plainName({ name })).toBe(plain);
});

test("a few rows are whichever the database has first", () => {
  const customers = aTable("customers");
  expect(fewRows(aSetup(customers), 3)).toBe(
    '"id" OPERATOR(pg_catalog.=) ANY (SELECT few."id" FROM (SELECT "id" FROM "public"."customers" LIMIT 3) AS few)',
  );
});
