import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeSource } from "../../src/config/descriptions.ts";
import { parseDatabaseUrl } from "../../src/config/urls.ts";
import { rounds } from "../support/long.ts";

type Source = Parameters<typeof describeSource>[0];

function aSource(url: string, keys: Omit<Source, "url"> = { table: "customers" }): Source {
  const parsed = parseDatabaseUrl(url);
  if (parsed === undefined) throw new Error(`${url} is no database url`);
  return { url: parsed, ...keys };
}

const ofUrl = (url: string): string => describeSource(aSource(url), "id");
const ofTable = (table: string): string => describeSource(aSource("postgres://db/app", { table }), "id");
const ofQuery = (query: string): string => describeSource(aSource("postgres://db/app", { query }), "id");

describe("the description of a source", () => {
  it.each([
    ["postgres://app:pw@db.example.com:6432/crm?sslmode=require", "db.example.com:6432/crm"],
    ["postgres://db/crm", "db:5432/crm"],
    ["mysql://db/crm", "db:3306/crm"],
    ["postgresql:///crm", "localhost:5432/crm"],
    ["postgres://[::1]/crm", "[::1]:5432/crm"],
    ["postgres://db", "db:5432/"],
    ["postgres://db/my%20crm", "db:5432/my crm"],
    ["postgres:///crm?host=/run/postgresql", "/run/postgresql:5432/crm"],
    ["postgres://db/crm?host=/run/postgresql&port=6432", "/run/postgresql:6432/crm"],
    ["mysql://db/crm?host=other&port=6432", "db:3306/crm"],
    ["postgres://%2Frun%2Fpostgresql/crm", "/run/postgresql:5432/crm"],
  ])("%s", (url, place) => {
    expect(ofUrl(url)).toBe(`${place} customers by id`);
  });

  it("is the same for every spelling of a host", () => {
    expect(ofUrl("postgresql://DB:5432/crm")).toBe(ofUrl("postgres://db/crm"));
    expect(ofUrl("postgres:///crm?host=/run/")).toBe(ofUrl("postgres:///crm?host=/run"));
  });

  it.each([
    ["public.customers", "public.customers"],
    ['"public"."customers"', "public.customers"],
    ['"Customers"', "Customers"],
    ['"a.b".c', '"a.b".c'],
    ['"My Schema"."say ""hi"""', '"My Schema"."say ""hi"""'],
  ])("has table %s without needless quotes", (table, shown) => {
    expect(ofTable(table)).toBe(`db:5432/app ${shown} by id`);
  });

  it("names a query by its text, however it is laid out", () => {
    expect(ofQuery("SELECT id FROM t")).toMatch(/^db:5432\/app query [0-9a-f]{12} by id$/);
    expect(ofQuery("\nSELECT id\n  FROM\tt  ")).toBe(ofQuery("SELECT id FROM t"));
    expect(ofQuery("SELECT id FROM u")).not.toBe(ofQuery("SELECT id FROM t"));
  });

  it("differs for every other host, port, database, table and column", () => {
    const described = [
      ofUrl("postgres://db/app"),
      ofUrl("postgres://other/app"),
      ofUrl("postgres://db:6432/app"),
      ofUrl("postgres://db/other"),
      ofTable("other"),
      describeSource(aSource("postgres://db/app"), "uuid"),
    ];
    expect(new Set(described).size).toBe(described.length);
  });

  it("depends neither on user, password and parameters nor on which rows are selected", () => {
    const described = "db:5432/app customers by id";
    for (const url of ["postgres://db/app", "postgres://me:new%40@db/app?sslmode=require&options=x"])
      expect(ofUrl(url)).toBe(described);
    const some = { table: "customers", ...{ where: "plan = 'gold'" } };
    expect(describeSource(aSource("postgres://db/app", some), "id")).toBe(described);
  });

  it("never shows a part of a password, even if the password lacks escapes", () => {
    const anyPassword = fc
      .array(fc.constantFrom("hunter2", "/", "?", "#", "@", ":", "1", "%40", "&host="), { minLength: 1 })
      .map((parts) => parts.join(""))
      .filter((password) => password.includes("hunter2"));
    fc.assert(
      fc.property(anyPassword, (password) => {
        const url = parseDatabaseUrl(`postgres://app:${password}@db/app`);
        if (url !== undefined) expect(describeSource({ url, table: "t" }, "id")).not.toContain("hunter2");
      }),
      { numRuns: rounds(3_000) },
    );
  });
});
