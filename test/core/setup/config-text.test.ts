import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { columnsOf } from "../../../src/core/group/group-rules.ts";
import { configText } from "../../../src/core/setup/config-text.ts";
import { canBeRule } from "../../../src/core/setup/proposal.ts";
import { type Setup, UNKNOWN_SCHEMA } from "../../../src/core/setup/setup.ts";
import { aColumn, aKey, aLink, aTable } from "../../builders/catalog.ts";
import { load } from "../../config/config-file.ts";
import { rounds } from "../../support/long.ts";
import { aSetup } from "./a-setup.ts";

const urls = {
  postgres: "postgres://app:pw@localhost/shop",
  mysql: "mysql://app:pw@localhost/shop",
} as const;

/** The config as groupsync loads it, once the operator has written the id of the schema. */
const loaded = (setup: Setup): Config =>
  load(configText(setup).replaceAll(UNKNOWN_SCHEMA, "40"), environment(setup));

const environment = ({ dialect }: Pick<Setup, "dialect">) => ({
  DATABASE_URL: urls[dialect],
  GROUPSYNC_DATABASE_URL: urls[dialect],
  GROUPSYNC_API_KEY: "key",
  GROUPSYNC_BASE_URL: "https://from.example.com",
});

const CUSTOMERS = aTable("customers", [
  aColumn("data_source_id"),
  aColumn("plan"),
  aColumn("founded", { kind: "date" }),
  aColumn("contact_email"),
  aColumn("deleted_at", { kind: "timestamp", isNullable: true }),
  aColumn("updated_at", { kind: "timestamp" }),
]);

describe.each(["postgres", "mysql"] as const)("on %s", (dialect) => {
  test("the config says what was proposed, and loads", () => {
    const schema = dialect === "mysql" ? "shop" : "public";
    const config = loaded(aSetup({ ...CUSTOMERS, schema }, { dialect }, { properties: ["plan"] }));
    expect(config.service.base_url).toBe("https://dashboards.example.com");
    expect(config.source).toMatchObject({
      table: dialect === "postgres" ? "public.customers" : "customers",
      removed_when: "deleted_at IS NOT NULL",
      changes: { column: "updated_at" },
    });
    expect(columnsOf(config.group)).toEqual(["id", "name", "data_source_id", "plan"]);
    expect(config.group.mapping).toMatchObject({ keys: { "40": { column: "data_source_id" } } });
    expect(config.tokens).toMatchObject([{ store: "table", table: "groupsync_tokens.tokens", rows: "own" }]);
    expect(config.ledger).toMatchObject({
      tablePrefix: "ledger_",
      ...(dialect === "postgres" && { schema: "groupsync" }),
    });
  });

  test("the config loads with every name that a database takes, and means the same name", () => {
    const unit = fc.constantFrom(
      ..."aZ9_ .-:#'\"`{}[]&*!|>%@,?=~\\\n\t",
      "$",
      "${",
      "é",
      "語",
      "😀",
      "\u007f",
      "\u2028",
    );
    const name = fc.string({ unit, minLength: 1, maxLength: 20 }).filter(canBeRule);
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 5, maxLength: 5 }), (names) => {
        const [schema = "", table = "", id = "", title = "", mapped = ""] = names;
        const columns = [aKey(id), aColumn(title), aColumn(mapped), aColumn(`plan ${id}`)];
        const catalogTable = { ...aTable(table), schema, columns };
        const wishes = {
          id,
          name: title,
          mapping: [{ schemaId: mapped, column: mapped }],
          properties: [`plan ${id}`],
        };
        const { group, source } = loaded(aSetup(catalogTable, { dialect, database: mapped }, wishes));
        expect(columnsOf(group)).toEqual([id, title, mapped, `plan ${id}`]);
        expect(group.mapping).toMatchObject({ keys: { [mapped]: { column: mapped } } });
        expect(partsOf(source.table ?? "")).toEqual([schema, table]);
      }),
      { numRuns: rounds(200) },
    );
  });
});

/** As the adapters read a table of the config. */
const partsOf = (table: string): string[] =>
  [...table.matchAll(/"((?:[^"]|"")+)"|([^".]+)/g)].map(([, quoted, plain]) =>
    quoted === undefined ? (plain ?? "") : quoted.replaceAll('""', '"'),
  );

test("the first line names the schema for editors, as config.example.yaml does", () => {
  expect(configText(aSetup(CUSTOMERS)).split("\n")[0]).toBe(
    "# yaml-language-server: $schema=./groupsync.schema.json",
  );
});

test("what nobody sees is written as an escape", () => {
  const text = configText(aSetup(CUSTOMERS, { baseUrl: "https://x.example.com/\u202e\u{e0041}\ufeff" }));
  expect(text).toContain('"https://x.example.com/\\u202e\\udb40\\udc41\\ufeff"');
});

test("without an address of the service, a variable has it", () => {
  expect(loaded(aSetup(CUSTOMERS, { baseUrl: undefined })).service.base_url).toBe("https://from.example.com");
});

test("without a change column there is no section for changes", () => {
  expect(loaded(aSetup(aTable("customers"))).source.changes.column).toBeUndefined();
});

test.each([
  ["is_deleted", "postgres", "is_deleted"],
  // A reserved word of MySQL.
  ["terminated", "mysql", "`terminated`"],
  ["isDeleted", "postgres", '"isDeleted"'],
] as const)("a flag %s on %s is the condition %s", (name, dialect, condition) => {
  const table = aTable("customers", [aColumn(name, { kind: "boolean" })]);
  expect(loaded(aSetup(table, { dialect })).source.removed_when).toBe(condition);
});

/** Takes the lines that are comments in place of the others of their keys. */
const uncommented = (text: string): string =>
  text
    .replace(/^ {2}table: .*\n/m, "")
    .replace(/^ {2}# ((query|ready_when|removed_when):.*| {2}(SELECT|FROM|LEFT JOIN) .*)$/gm, "  $1")
    .replace("mapping: {}", 'mapping: { "40": warehouse }');

/** The config would take it for a variable. */
const ODD = ["a$", "{b}"].join("");

test.each(["postgres", "mysql"] as const)("on %s, what stands as a comment can be taken", (dialect) => {
  const table = aTable("customers", [
    aColumn("status"),
    aColumn(ODD),
    aColumn("updated_at", { kind: "timestamp" }),
  ]);
  const child = aTable("workspaces", [aLink("customer_id", table), aColumn("warehouse")]);
  const setup = aSetup(table, { dialect }, { properties: [ODD] }, [child]);
  expect(loaded(setup).source).toMatchObject({ table: "public.customers" });
  expect(loaded(setup).source.removed_when).toBeUndefined();

  const { source, group } = load(uncommented(configText(setup)), environment(setup));
  const q = dialect === "postgres" ? '"' : "`";
  const quoted = (text: string): string => text.replaceAll('"', q);
  expect(source.query).toBe(
    quoted(`SELECT t.id, t.name, t."${ODD}", t.updated_at, t.status, d.warehouse
FROM "public"."customers" AS t
LEFT JOIN "public"."workspaces" AS d ON d.customer_id = t.id`),
  );
  expect(source.ready_when).toBe("warehouse IS NOT NULL");
  expect(source.removed_when).toBe("status IN ('cancelled', 'deleted')");
  expect(columnsOf(group)).toContain("warehouse");
});

test("a query that stands as a comment is whole, however many columns it has", () => {
  const names = Array.from({ length: 40 }, (_, index) => `a_property_with_a_long_name_${index}`);
  const table = aTable(
    "customers",
    names.map((name) => aColumn(name)),
  );
  const child = aTable("workspaces", [aLink("customer_id", table), aColumn("warehouse")]);
  const setup = aSetup(table, {}, { properties: names }, [child]);
  const { source } = load(uncommented(configText(setup)), environment(setup));
  expect(source.query).toContain(`t.${names.at(-1)}, d.warehouse\nFROM`);
});

test("a query that stands as a comment has each column once, also a status that is a property", () => {
  const table = aTable("customers", [aColumn("status")]);
  const child = aTable("workspaces", [aLink("customer_id", table), aColumn("warehouse")]);
  const setup = aSetup(table, {}, { properties: ["status"] }, [child]);
  const { source } = load(uncommented(configText(setup)), environment(setup));
  expect(source.query).toContain("SELECT t.id, t.name, t.status, d.warehouse\n");
});
