import { describe, expect, test } from "vitest";
import { type CatalogTable, titleOf } from "../../../src/core/setup/catalog.ts";
import { removalCondition } from "../../../src/core/setup/config-text.ts";
import { type Proposal, proposals, type Wishes } from "../../../src/core/setup/proposal.ts";
import { aColumn, aKey, aLink, aTable, tablesReferringTo } from "../../builders/catalog.ts";

const best = (tables: readonly CatalogTable[], wishes = {}): Proposal => {
  const [first] = proposals(tables, wishes).fit;
  if (!first) throw new Error("nothing fits");
  return first;
};
const names = (tables: readonly CatalogTable[]): string[] =>
  proposals(tables).fit.map(({ table }) => table.name);

describe("the table", () => {
  test("is the one that sounds like tenants by its last word", () => {
    expect(names([aTable("customer_orders"), aTable("users"), aTable("active_customers")])).toEqual([
      "active_customers",
      "customer_orders",
      "users",
    ]);
  });

  test("is otherwise the one that most others refer to", () => {
    const [things, houses] = [aTable("things"), aTable("houses")];
    const tables = [things, houses, ...tablesReferringTo(things, 1), ...tablesReferringTo(houses, 3)];
    expect(best(tables)).toMatchObject({
      table: { name: "houses" },
      reason: "is referred to by 3 other tables",
    });
  });

  test("is one of tenants, and not the list of their countries that more tables refer to", () => {
    const [countries, tenants] = [aTable("countries"), aTable("tenants")];
    const tables = [countries, ...tablesReferringTo(countries, 5), tenants, ...tablesReferringTo(tenants, 2)];
    expect(names(tables)).toEqual(["tenants", "countries"]);
  });

  test("is rather a table than a view of the same rows", () => {
    const view = aTable("customers_view", [], { kind: "view" });
    expect(names([view, aTable("customers")])).toEqual(["customers", "customers_view"]);
  });

  test("is one of another owner only if the operator names it", () => {
    const theirs = aTable("customers", [], { isOurs: false, owner: "mallory" });
    for (const table of [undefined, "customers"])
      expect(proposals([theirs], { table })).toMatchObject({
        fit: [],
        unfit: [{ table: { name: "customers" }, lacks: expect.stringContaining("name it with its schema") }],
      });
    expect(best([theirs, aTable("things")]).table.name).toBe("things");
    expect(best([theirs], { table: "public.customers" }).table.owner).toBe("mallory");
  });

  test("comes in the same order, however the catalog orders it", () => {
    const tables = [aTable("b"), aTable("a"), aTable("c")];
    expect(names(tables)).toEqual(["a", "b", "c"]);
    expect(names(tables.toReversed())).toEqual(["a", "b", "c"]);
  });

  test("is none that this user may not read, or that lacks an id or a name", () => {
    const found = proposals([
      aTable("customers", [], { isReadable: false }),
      aTable("orders", [], { columns: [aKey()] }),
      aTable("notes", [], { columns: [aColumn("name")] }),
      aTable("links", [], { columns: [] }),
    ]);
    expect(found.fit).toEqual([]);
    expect(found.unfit.map(({ table, lacks }) => `${table.name}: ${lacks}`)).toEqual([
      "customers: this user may not read it",
      "links: it has no unique id and no column that could be a name",
      "notes: it has no unique id",
      "orders: it has no column that could be a name",
    ]);
  });
});

describe("the id", () => {
  const idOf = (...columns: CatalogTable["columns"]): string | undefined =>
    proposals([aTable("customers", [], { columns: [aColumn("name"), ...columns] })]).fit[0]?.id.column.name;
  const unique = { key: "unique" } as const;

  test("is the primary key", () => {
    expect(idOf(aColumn("slug", unique), aKey("number"))).toBe("number");
  });

  test("is otherwise a unique column without nulls, best one that sounds like an id", () => {
    for (const name of ["customer_id", "CustomerID", "Customer id"])
      expect(idOf(aColumn("slug", unique), aColumn(name, unique))).toBe(name);
    expect(idOf(aColumn("slug", { ...unique, isNullable: true }))).toBeUndefined();
    expect(idOf(aColumn("id"))).toBeUndefined();
  });

  test("is of a type that an id can have", () => {
    expect(idOf(aColumn("id", { key: "primary", kind: "other" }), aColumn("code", unique))).toBe("code");
    expect(idOf(aColumn("id", { key: "primary", kind: "uuid" }))).toBe("id");
  });

  test("is no token, and no name that a rule of the config can't have", () => {
    expect(idOf(aColumn("access_token", unique))).toBeUndefined();
    expect(idOf(aColumn("{{id}}", unique))).toBeUndefined();
    expect(idOf(aColumn(" id", unique))).toBeUndefined();
  });

  test("of a view is a column that sounds like one", () => {
    const view = aTable("customers", [], {
      kind: "view",
      columns: [aColumn("name"), aColumn("account_id"), aColumn("customer_id")],
    });
    expect(best([view]).id).toMatchObject({
      column: { name: "customer_id" },
      reason: expect.stringContaining("nobody knows whether its ids are unique"),
    });
  });
});

describe("the name", () => {
  const nameOf = (...columns: CatalogTable["columns"]): string | undefined =>
    proposals([aTable("customers", [], { columns: [aKey(), ...columns] })]).fit[0]?.name.column.name;

  test.each([
    [["legal_name", "company_name", "name"], "name"],
    [["title", "customer_name"], "customer_name"],
    [["CompanyName", "label"], "CompanyName"],
    [["contact_name", "user_name", "first_name", "file_name", "title"], "title"],
    [["notes"], undefined],
  ])("of %s is %s", (columns, name) => {
    expect(nameOf(...columns.map((column) => aColumn(column)))).toBe(name);
  });

  test("is text, which may be null", () => {
    expect(nameOf(aColumn("name", { kind: "other" }))).toBeUndefined();
    expect(nameOf(aColumn("name", { isNullable: true }))).toBe("name");
  });
});

test("a mapping is proposed with the column that sounds most like a data source, and no secret", () => {
  const columns = ["db_password", "database_dsn", "database_region", "data_source_id"].map((name) =>
    aColumn(name),
  );
  expect(best([aTable("customers", columns)]).mapping).toMatchObject([
    { schemaId: null, column: { name: "data_source_id" } },
  ]);
  expect(best([aTable("customers")]).mapping).toEqual([]);
});

test.each([
  "db_pass",
  "dbpassword",
  "database_url",
  "databaseUri",
  "warehouse_connection_string",
  "jdbc_connection",
  "dbSigningKey",
])("%s may hold a password: it is no data source", (name) => {
  expect(best([aTable("customers", [aColumn(name)])]).mapping).toEqual([]);
});

test("the host, port and user of a database are no data source", () => {
  const columns = ["db_host", "db_port", "db_user"].map((name) => aColumn(name));
  expect(best([aTable("customers", columns)]).mapping).toEqual([]);
});

test("no column becomes a property unless it is wished", () => {
  const table = aTable("customers", [aColumn("plan"), aColumn("email")]);
  expect(best([table]).properties).toEqual([]);
  expect(best([table], { properties: ["email", "email"] }).properties).toMatchObject([
    { column: { name: "email" }, reason: "was chosen" },
  ]);
});

test.each([
  [aColumn("deleted_at", { kind: "timestamp", isNullable: true }), "dated"],
  [aColumn("archivedOn", { kind: "date", isNullable: true }), "dated"],
  [aColumn("discarded_at", { kind: "timestamp", isNullable: true }), "dated"],
  [aColumn("is_deleted", { kind: "boolean" }), "flag"],
  [aColumn("deleted_at", { kind: "timestamp" }), undefined],
  [aColumn("deleted_by", { isNullable: true }), undefined],
])("a tenant is gone by $name of kind $kind: %#", (column, form) => {
  expect(best([aTable("customers", [column])]).removals[0]?.form).toBe(form);
});

test("a tenant is gone by each column that says so", () => {
  const columns = [
    aColumn("archived_at", { kind: "timestamp", isNullable: true }),
    aColumn("deleted_at", { kind: "timestamp", isNullable: true }),
    aColumn("is_closed", { kind: "boolean" }),
  ];
  const { removals } = best([aTable("customers", columns)]);
  expect(removalCondition("postgres", removals)).toBe(
    "archived_at IS NOT NULL OR deleted_at IS NOT NULL OR is_closed",
  );
});

test.each([
  [aColumn("updated_at", { kind: "timestamp" }), true],
  [aColumn("LastModified", { kind: "timestamp" }), true],
  [aColumn("created_at", { kind: "timestamp" }), false],
  [aColumn("updated_at", { kind: "date" }), false],
  [aColumn("version", { kind: "integer" }), false],
])("a change is noticed by $name of kind $kind: %#", (column, isChange) => {
  expect(best([aTable("customers", [column])]).change !== null).toBe(isChange);
});

test("two tables have two titles, wherever their names have dots", () => {
  const titles = [
    { schema: "a", name: "b.c" },
    { schema: "a.b", name: "c" },
  ].map(titleOf);
  expect(titles).toEqual(['a."b.c"', '"a.b".c']);
});

test.each(["\u202e", "\u200b", "\u{e0041}", "\r"])(
  "no name with a character that nobody sees is proposed: %j",
  (char) => {
    const deleted = aColumn(`deleted${char}_at`, { kind: "timestamp", isNullable: true });
    const columns = [aColumn(`warehouse${char}`), deleted];
    expect(best([aTable("customers", columns)])).toMatchObject({ mapping: [], removals: [] });
    expect(proposals([aTable(`customers${char}`)])).toEqual({ fit: [], unfit: [] });
  },
);

describe("what was wished", () => {
  const named = ["company", "warehouse", "code", "{{ code }}"].map((name) => aColumn(name));
  const customers = aTable("customers", named);

  test("is taken, whatever the catalog says", () => {
    const wishes = {
      table: "public.things",
      id: "code",
      name: "company",
      mapping: [{ schemaId: "40", column: "warehouse" }],
      properties: ["name"],
    };
    const things = aTable("things", customers.columns.slice(2));
    expect(best([customers, things], wishes)).toMatchObject({
      table: { name: "things" },
      id: { column: { name: "code" }, reason: "was chosen" },
      name: { column: { name: "company" } },
      mapping: [{ schemaId: "40", column: { name: "warehouse" } }],
      properties: [{ column: { name: "name" } }],
    });
  });

  test("keeps the reason of the proposal, if it would have been proposed", () => {
    expect(best([customers], { id: "id", name: "company" })).toMatchObject({
      id: { reason: "is the primary key" },
      name: { reason: "sounds like the tenant's name, and is never null" },
    });
  });

  test("is one table, so a name that several have needs its schema", () => {
    const other = { ...customers, schema: "old" };
    expect(proposals([customers, other], { table: "customers" })).toMatchObject({
      fit: [],
      unfit: Array(2).fill({ lacks: "several tables have this name: name one with its schema" }),
    });
    expect(proposals([customers, other], { table: "old.customers" }).fit).toHaveLength(1);
    const posing = aTable("old.customers", [], { schema: "theirs" });
    expect(proposals([posing, other], { table: "old.customers" }).fit).toMatchObject([
      { table: { schema: "old", name: "customers" } },
    ]);
  });

  test.each([
    [{ id: "nope" }, "it has no column nope"],
    [{ name: "nope" }, "it has no column nope"],
    [{ mapping: [{ schemaId: "40", column: "nope" }] }, "it has no column nope"],
    [{ properties: ["nope"] }, "it has no column nope"],
    [{ properties: ["{{ code }}"] }, "it has no column {{ code }}"],
  ])("has to be there: %j", (wishes, lacks) => {
    expect(proposals([customers], wishes)).toMatchObject({ fit: [], unfit: [{ lacks }] });
  });
});

test.each([
  ["warehouse_datasource_id", true],
  ["DataSourceRefs", true],
  ["DWHDatabase", true],
  ["warehouses", true],
  ["dbid", false],
])("words count also if they are written as one, but not inside of another word: %s", (name, isFound) => {
  expect(best([aTable("customers", [aColumn(name)])]).mapping).toHaveLength(isFound ? 1 : 0);
});

describe("a data source in another table", () => {
  const tenants = aTable("customers");
  const child = (name: string, ...columns: CatalogTable["columns"]) =>
    aTable(name, [aLink("customer_id", tenants), ...columns]);
  const joined = (...tables: readonly CatalogTable[]) => best([tenants, ...tables]).joined;

  test("is found by the foreign key to the tenants' id", () => {
    expect(joined(child("notes", aColumn("body")), child("workspaces", aColumn("warehouse")))).toMatchObject({
      table: { name: "workspaces" },
      key: { name: "customer_id" },
      dataSource: { name: "warehouse" },
    });
  });

  test("is named if somebody takes it for a column of the tenants", () => {
    const lacks = (wishes: Wishes) =>
      proposals([tenants, child("workspaces", aColumn("warehouse"))], wishes).unfit[0]?.lacks;
    expect(lacks({ mapping: [{ schemaId: "40", column: "warehouse" }] })).toMatch(
      /^it has no column warehouse, and workspaces refers to it.* leave --mapping out/,
    );
    expect(lacks({ properties: ["warehouse"] })).toBe("it has no column warehouse");
  });

  test("is none without that key, in a table of somebody else, or under a name that both tables have", () => {
    const warehouse = aColumn("warehouse");
    const other = {
      ...aLink("customer_id", tenants),
      refersTo: { schema: "public", table: "customers", column: "code" },
    };
    expect(joined(aTable("workspaces", [warehouse]))).toBeNull();
    expect(joined(aTable("workspaces", [other, warehouse]))).toBeNull();
    expect(joined({ ...child("workspaces", warehouse), isOurs: false })).toBeNull();
    expect(joined({ ...child("workspaces", warehouse), isReadable: false })).toBeNull();
    const taken = aTable("customers", [aColumn("warehouse", { kind: "other" })]);
    expect(best([taken, child("workspaces", warehouse)]).joined).toBeNull();
  });

  test("is not looked for if the tenants' own table has one", () => {
    const own = aTable("customers", [aColumn("data_source_id")]);
    expect(best([own, child("workspaces", aColumn("warehouse"))]).joined).toBeNull();
  });
});

test.each([
  [aColumn("status"), true],
  [aColumn("customer_status", { kind: "other" }), true],
  [aColumn("subscription_state"), true],
  [aColumn("state"), false],
  [aColumn("payment_status"), false],
  [aColumn("status", { kind: "boolean" }), false],
])("the values of $name of kind $kind may say which tenants are gone: %#", (column, isStatus) => {
  expect(best([aTable("customers", [column])]).status !== null).toBe(isStatus);
});
