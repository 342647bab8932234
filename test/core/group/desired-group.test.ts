import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { desiredTenants, digestSeed, duplicateTenant } from "../../../src/core/group/desired-group.ts";
import { columnsOf, type GroupRules, type Rule } from "../../../src/core/group/group-rules.ts";
import { type Cell, type RejectionCode, type Tenant, Unusable } from "../../../src/core/group/tenant.ts";
import type { Json, JsonObject } from "../../../src/core/text/json.ts";
import { anyJson } from "../../builders/arbitraries.ts";
import { aRow, fingerprintOfGroup } from "../../builders/groups.ts";
import { column, constant, someRules, template } from "../../builders/rules.ts";

const BYTES = new Unusable("holds bytes");

/** Evaluates a row that is given by column names; what it doesn't name is null, the id is "acme". */
function evaluate(
  rules: GroupRules,
  cells: Record<string, Cell>,
  mark: "removed" | "not ready" | null = null,
): Tenant {
  const row: Record<string, Cell> = { id: "acme", name: "Acme", ...cells };
  return desiredTenants(rules)({
    cells: columnsOf(rules).map((name) => row[name] ?? null),
    digest: aRow(),
    removed: mark === "removed",
    notReady: mark === "not ready",
  });
}

const verdict = (tenant: Tenant) => (tenant.kind === "rejected" ? tenant.code : tenant.kind);

/** The group, or why there is none. */
function outcome(rules: GroupRules, cells: Record<string, Cell> = {}) {
  const tenant = evaluate(rules, cells);
  return tenant.kind === "desired" ? tenant.group : verdict(tenant);
}

it("computes the whole group from a row, with the fingerprint of just that group", () => {
  const rules = someRules({
    mapping: {
      kind: "keys",
      keys: { "134": template(["wh-", { column: "region" }]), "40": column("source") },
    },
    properties: { kind: "keys", keys: { plan: column("plan"), tier: constant({ level: 1 }) } },
  });
  const tenant = evaluate(rules, { region: "eu", source: 7, plan: "gold" });
  const group = {
    user_group_id: "acme",
    name: "Acme",
    mapping: { "40": "7", "134": "wh-eu" },
    properties: { plan: "gold", tier: { level: 1 } },
  };
  expect(tenant).toEqual({
    kind: "desired",
    user_group_id: "acme",
    group,
    fingerprint: fingerprintOfGroup(group),
    row: aRow(),
    dataSourceId: null,
  });
});

it("rejects only the row in which an unexpected error happens", () => {
  const odd = {
    get plan(): never {
      throw new RangeError("Invalid string length");
    },
  };
  const rules = someRules({ properties: { kind: "keys", keys: { plan: column("plan") } } });
  expect(evaluate(rules, { plan: odd })).toEqual({
    kind: "rejected",
    user_group_id: "acme",
    bucket: 7,
    code: "VALUE_UNUSABLE",
    message: "no group can be made of this row: Invalid string length",
  });
});

it("names the column of a template's value that is unusable", () => {
  const rules = someRules({ name: template(["", { column: "first" }, " ", { column: "last" }]) });
  expect(evaluate(rules, { first: "A", last: BYTES })).toMatchObject({
    code: "VALUE_UNUSABLE",
    message: "name: column last holds bytes",
  });
});

it("other rules give another seed for the digests of rows, and the same rules the same", () => {
  const seed = digestSeed(someRules());
  expect(digestSeed(someRules())).toBe(seed);
  expect(digestSeed(someRules({ name: constant("Acme") }))).not.toBe(seed);
  expect(seed).toMatch(/^[\w-]{43}$/);
});

describe("each kind of rule", () => {
  const LEFT_OUT = "left out";
  type Expected = Json | typeof LEFT_OUT | RejectionCode;
  type Values = Record<"text" | "number" | "object" | "null" | "unusable", Expected>;
  type Field = "name" | "mapping" | "properties" | "dataSourceId";

  const cells: Record<keyof Values, Cell> = {
    text: "x",
    number: 1.5,
    object: { a: [1] },
    null: null,
    unusable: BYTES,
  };
  const json = { text: "x", number: 1.5, object: { a: [1] }, null: null, unusable: "VALUE_UNUSABLE" };
  const text = { ...json, number: "1.5", object: "VALUE_UNUSABLE", null: "VALUE_NULL" };
  const inText = { ...text, text: "<x>", number: "<1.5>" };
  const always = (value: Json): Values => ({
    ...{ text: value, number: value, object: value, null: value, unusable: value },
  });
  const optional = column("value", { optional: true });
  const withDefault = column("value", { default: 7 });
  const aTemplate = template(["<", { column: "value" }, ">"]);
  const optionalTemplate = template(["<", { column: "value" }, ">"], true);

  const rulesWith = (field: Field, rule: Rule): GroupRules =>
    field === "mapping" || field === "properties"
      ? someRules({ [field]: { kind: "keys", keys: { key: rule } } })
      : someRules({ [field]: rule });

  function got(field: Field, rule: Rule, value: Cell): Expected {
    const tenant = evaluate(rulesWith(field, rule), { value });
    if (tenant.kind !== "desired") return verdict(tenant);
    if (field === "dataSourceId") return tenant.dataSourceId;
    if (field === "name") return tenant.group.name;
    const object = tenant.group[field];
    return Object.hasOwn(object, "key") ? (object.key as Json) : LEFT_OUT;
  }

  it.each<[Field, string, Rule, Values]>([
    ["properties", "a column", column("value"), json],
    ["properties", "an optional column", optional, { ...json, null: LEFT_OUT }],
    ["properties", "a column with a default", withDefault, { ...json, null: 7 }],
    ["properties", "a template", aTemplate, inText],
    ["properties", "an optional template", optionalTemplate, { ...inText, null: LEFT_OUT }],
    ["properties", "a constant", constant([7]), always([7])],
    // A mapping value is always a string.
    ["mapping", "a column", column("value"), text],
    ["mapping", "an optional column", optional, { ...text, null: LEFT_OUT }],
    ["mapping", "a column with a default", withDefault, { ...text, null: "7" }],
    ["mapping", "a template", aTemplate, inText],
    ["mapping", "an optional template", optionalTemplate, { ...inText, null: LEFT_OUT }],
    ["mapping", "a constant", constant(true), always("true")],
    // There is no group without a name.
    ["name", "a column", column("value"), text],
    ["name", "an optional column", optional, text],
    ["name", "a column with a default", withDefault, { ...text, null: "7" }],
    ["name", "an optional template", optionalTemplate, inText],
    ["name", "a constant", constant("All"), always("All")],
    // The data source may have no id.
    ["dataSourceId", "a column", column("value"), { ...text, null: null }],
    ["dataSourceId", "a column with a default", withDefault, { ...text, null: "7" }],
    ["dataSourceId", "a template", aTemplate, inText],
    ["dataSourceId", "an optional template", optionalTemplate, { ...inText, null: null }],
    ["dataSourceId", "a constant", constant(true), always("true")],
  ])("%s: %s", (field, _, rule, expected) => {
    const found = Object.entries(cells).map(([kind, cell]) => [kind, got(field, rule, cell)]);
    expect(Object.fromEntries(found)).toEqual(expected);
  });
});

describe("one column that holds the whole object", () => {
  const whole = { kind: "json", column: "all" } as const;
  type Expected = JsonObject | RejectionCode;

  it.each<[string, Cell, Expected, Expected]>([
    ["an object", { a: 1, b: null, c: { d: true } }, "VALUE_NULL", { a: 1, b: null, c: { d: true } }],
    [
      "text that holds an object",
      '{"a": 12345678901234567890}',
      { a: "12345678901234567890" },
      { a: "12345678901234567890" },
    ],
    [
      "numbers and booleans",
      { a: 1, b: true, c: "x" },
      { a: "1", b: "true", c: "x" },
      { a: 1, b: true, c: "x" },
    ],
    ["a nested object", { a: {} }, "VALUE_UNUSABLE", { a: {} }],
    ["null", null, "VALUE_NULL", {}],
    ["text that holds null", "null", "VALUE_NULL", {}],
    ["a list", [1], "VALUE_UNUSABLE", "VALUE_UNUSABLE"],
    ["text that holds a list", "[1]", "VALUE_UNUSABLE", "VALUE_UNUSABLE"],
    ["text that is no JSON", "{a: 1}", "VALUE_UNUSABLE", "VALUE_UNUSABLE"],
    ["empty text", "", "VALUE_UNUSABLE", "VALUE_UNUSABLE"],
    ["a number", 1, "VALUE_UNUSABLE", "VALUE_UNUSABLE"],
    ["bytes", BYTES, "VALUE_UNUSABLE", "VALUE_UNUSABLE"],
  ])("%s", (_, all, mapping, properties) => {
    const read = (rules: GroupRules, field: "mapping" | "properties") => {
      const result = outcome(rules, { all });
      return typeof result === "string" ? result : result[field];
    };
    expect(read(someRules({ mapping: whole }), "mapping")).toEqual(mapping);
    expect(read(someRules({ properties: whole }), "properties")).toEqual(properties);
  });

  it("is sent as it is, and gives the same group as text of the same JSON", () => {
    const rules = someRules({ properties: whole });
    fc.assert(
      fc.property(fc.dictionary(fc.string(), anyJson()), (object) => {
        fc.pre(!/\d{16}/.test(JSON.stringify(object)));
        const tenant = evaluate(rules, { all: object });
        expect(tenant).toMatchObject({ kind: "desired", group: { properties: object } });
        expect(evaluate(rules, { all: JSON.stringify(object) })).toEqual(tenant);
      }),
    );
  });

  it("may have keys that JavaScript treats in a way of its own", () => {
    const all = '{"__proto__": {"admin": true}, "constructor": 1}';
    const tenant = evaluate(someRules({ properties: whole, mapping: { kind: "keys", keys: {} } }), { all });
    const properties = tenant.kind === "desired" ? tenant.group.properties : {};
    expect(JSON.stringify(properties)).toBe('{"__proto__":{"admin":true},"constructor":1}');
    expect(Object.getPrototypeOf(properties)).toBe(Object.prototype);
  });
});

it("takes a key called __proto__ from the rules too", () => {
  const keys = Object.fromEntries([["__proto__", column("name")]]);
  const tenant = evaluate(someRules({ mapping: { kind: "keys", keys } }), {});
  expect(JSON.stringify(tenant)).toContain('"mapping":{"__proto__":"Acme"}');
});

describe("the id", () => {
  it.each<[string, Cell, RejectionCode | "desired"]>([
    ["null", null, "ID_NULL"],
    ["empty", "", "ID_EMPTY"],
    ["512 bytes", "a".repeat(512), "desired"],
    ["513 bytes", "a".repeat(513), "ID_TOO_LONG"],
    ["512 bytes in 128 characters", "\u{1f600}".repeat(128), "desired"],
    ["513 bytes in 171 characters", "\uffff".repeat(171), "ID_TOO_LONG"],
    ["514 bytes in 257 characters", "é".repeat(257), "ID_TOO_LONG"],
    ["with a NUL", "a\0b", "ID_UNUSABLE"],
    ["a number", 7, "ID_UNUSABLE"],
    ["bytes", BYTES, "ID_UNUSABLE"],
  ])("%s", (_, id, expected) => {
    const usableId = typeof id === "string" && id !== "" ? id : null;
    const tenant = evaluate(someRules(), { id });
    expect(verdict(tenant)).toBe(expected);
    expect(tenant.user_group_id).toBe(usableId);
    const removed = evaluate(someRules(), { id }, "removed");
    expect(verdict(removed)).toBe(expected === "desired" ? "flagged" : expected);
    expect(removed.user_group_id).toBe(usableId);
    // A row that waits may lack its id yet.
    const user_group_id = expected === "desired" ? id : null;
    expect(evaluate(someRules(), { id }, "not ready")).toEqual({ kind: "not_ready", user_group_id });
  });

  it("of several rows stands for none of them", () => {
    expect(duplicateTenant("acme", 7, "id", 3)).toEqual({
      kind: "rejected",
      user_group_id: "acme",
      bucket: 7,
      code: "ID_DUPLICATE",
      message: "3 rows have this id in column id; none of them is used",
    });
  });
});

it.each([
  ["removed", "flagged"],
  ["not ready", "not_ready"],
] as const)("needs nothing but the id of a row that is %s, whatever its other values are", (mark, kind) => {
  const rules = someRules({ mapping: { kind: "json", column: "all" }, dataSourceId: column("source") });
  expect(evaluate(rules, { name: null, all: BYTES, source: BYTES }, mark)).toEqual({
    kind,
    user_group_id: "acme",
  });
});

it.each<[string, GroupRules, Record<string, Cell>, string]>([
  ["the id's column", someRules(), { id: BYTES }, "column id holds bytes"],
  ["the name's column", someRules(), { name: null }, "name (column name) is null"],
  ["a name that is empty", someRules(), { name: "" }, "name (column name) is empty"],
  ["a blank name", someRules(), { name: " \t" }, "name (column name) has nothing but blanks"],
  [
    "a mapping's key and column",
    someRules({ mapping: { kind: "keys", keys: { "40": column("source") } } }),
    {},
    "mapping.40 (column source) is null",
  ],
  [
    "a template's column",
    someRules({ mapping: { kind: "keys", keys: { "40": template([{ column: "region" }]) } } }),
    {},
    "mapping.40: column region is null",
  ],
  [
    "a key of a JSON column",
    someRules({ mapping: { kind: "json", column: "all" } }),
    { all: { "40": null } },
    "mapping.40 (column all) is null",
  ],
  [
    "a mapping that is empty",
    someRules({ mapping: { kind: "keys", keys: { "40": column("source") } } }),
    { source: "" },
    "mapping.40 (column source) is empty",
  ],
  [
    "an empty key of a JSON column",
    someRules({ mapping: { kind: "json", column: "all" } }),
    { all: { "40": " \u00a0" } },
    "mapping.40 (column all) has nothing but blanks",
  ],
  [
    "the data source and its column",
    someRules({ dataSourceId: column("source") }),
    { source: [1] },
    "data_source_provided_id (column source) holds JSON where text is needed",
  ],
  [
    "a JSON column",
    someRules({ properties: { kind: "json", column: "all" } }),
    { all: "{" },
    "column all holds text that is not JSON",
  ],
])("a rejection names %s", (_, rules, cells, message) => {
  expect(evaluate(rules, cells)).toMatchObject({ kind: "rejected", message });
});

describe("a group that is too much", () => {
  const MEBIBYTE = 1024 * 1024;
  const rules = someRules({ properties: { kind: "keys", keys: { value: column("value") } } });
  /** JSON of the group beside the value itself. */
  const frame = Buffer.byteLength(
    JSON.stringify({ user_group_id: "acme", name: "Acme", mapping: {}, properties: { value: "" } }),
  );

  it("is measured in bytes of its JSON", () => {
    expect(outcome(rules, { value: "x".repeat(MEBIBYTE - frame) })).toHaveProperty("name", "Acme");
    expect(outcome(rules, { value: "x".repeat(MEBIBYTE - frame + 1) })).toBe("GROUP_TOO_LARGE");
    expect(outcome(rules, { value: "\u0001".repeat(MEBIBYTE / 6) })).toBe("GROUP_TOO_LARGE");
  });

  const LONG = -Math.PI * 1e-300;
  it.each<[string, Json]>([
    ["empty strings", ""],
    ["long numbers", LONG],
    ["words", false],
    ["empty lists", []],
    ["objects of long numbers", { a: LONG, b: LONG, c: LONG, d: LONG }],
    ["keys", { "": null }],
  ])("may be made of many %s", (_, item) => {
    const enough = Math.ceil(MEBIBYTE / (JSON.stringify(item).length + 1)) + 1;
    expect(outcome(rules, { value: Array.from({ length: enough }, () => item) })).toBe("GROUP_TOO_LARGE");
  });

  it.each([101, 100_000])("may be nested %i levels deep", (depth) => {
    const value = JSON.parse("[".repeat(depth) + "]".repeat(depth)) as Json;
    expect(outcome(rules, { value })).toBe("VALUE_UNUSABLE");
  });
});
