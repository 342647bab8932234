import fc from "fast-check";
import { expect, test } from "vitest";
import { desiredTenants, digestSeed } from "../../../src/core/group/desired-group.ts";
import { columnsOf, type GroupRules } from "../../../src/core/group/group-rules.ts";
import { canonicalJson } from "../../../src/core/text/json.ts";
import { anyId, anyJson, anyText } from "../../builders/arbitraries.ts";
import { column, someRules } from "../../builders/rules.ts";
import { readAll } from "../../contracts/rows-of.ts";
import { type DatabaseKind, freshDatabase } from "../../support/databases/fresh-database.ts";
import { rounds } from "../../support/long.ts";
import { SOURCES } from "../sql/source/source-database.ts";

const text = (maxLength: number) =>
  anyText({ maxLength }).map((value) => [...value.replaceAll("\0", "0")].slice(0, maxLength).join(""));
const two = (value: number, digits = 2) => String(value).padStart(digits, "0");
const day = fc
  .tuple(fc.integer({ min: 1, max: 9999 }), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 28 }))
  .map(([year, month, date]) => `${two(year, 4)}-${two(month)}-${two(date)}`);
const clock = fc
  .tuple(fc.nat(23), fc.nat(59), fc.nat(59), fc.constantFrom("", ".5", ".120", ".123456", ".000001"))
  .map(([hours, minutes, seconds, fraction]) => `${two(hours)}:${two(minutes)}:${two(seconds)}${fraction}`);
const finite = { noNaN: true, noDefaultInfinity: true } as const;

/** Column types that hold the same in both, and text that both read as a value of it. */
const COLUMNS: Readonly<
  Record<string, { types: Record<DatabaseKind, string>; value: fc.Arbitrary<string> }>
> = {
  id: { types: { postgres: "text", mysql: "varchar(99)" }, value: anyId() },
  name: { types: { postgres: "text", mysql: "longtext" }, value: text(9) },
  short: { types: { postgres: "char(4)", mysql: "char(4)" }, value: text(4) },
  flag: { types: { postgres: "boolean", mysql: "boolean" }, value: fc.constantFrom("0", "1") },
  seats: {
    types: { postgres: "bigint", mysql: "bigint" },
    value: fc.oneof(fc.integer(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })).map(String),
  },
  price: {
    types: { postgres: "numeric(12, 3)", mysql: "decimal(12, 3)" },
    value: fc.integer().map((thousandths) => (thousandths / 1000).toFixed(3)),
  },
  score: { types: { postgres: "real", mysql: "float" }, value: fc.float(finite).map(String) },
  ratio: {
    types: { postgres: "double precision", mysql: "double" },
    value: fc.double(finite).map(String),
  },
  since: {
    types: { postgres: "timestamp", mysql: "datetime(6)" },
    value: fc.tuple(day, clock).map((parts) => parts.join(" ")),
  },
  birthday: { types: { postgres: "date", mysql: "date" }, value: day },
  opens: { types: { postgres: "time", mysql: "time(6)" }, value: clock },
  extra: { types: { postgres: "json", mysql: "json" }, value: anyJson().map((json) => JSON.stringify(json)) },
};
const NAMES = Object.keys(COLUMNS);

const rules: GroupRules = someRules({
  properties: {
    kind: "keys",
    keys: Object.fromEntries(NAMES.slice(2).map((name) => [name, column(name)])),
  },
});

const aRow = fc.tuple(
  ...Object.entries(COLUMNS).map(([name, { value }]) =>
    name === "id" ? value : fc.option(value, { freq: 9 }),
  ),
);

async function aSide(kind: DatabaseKind) {
  const { url, query } = await freshDatabase(kind);
  const definitions = NAMES.map((name) => `${name} ${COLUMNS[name]?.types[kind]}`);
  await query(`CREATE TABLE customers (${definitions.join(", ")})`);
  const source = SOURCES[kind](url, { table: "customers" });
  const evaluate = desiredTenants(rules);
  return {
    /** What the sync would make of these rows, in its order; but for digests and buckets, which are each database's own. */
    async tenants(rows: readonly (readonly (string | null)[])[]): Promise<string[]> {
      await query("DELETE FROM customers");
      const places = NAMES.map((_, index) => `$${index + 1}`).join(", ");
      for (const row of rows) await query(`INSERT INTO customers VALUES (${places})`, row);
      const { rows: read } = await readAll(source, columnsOf(rules), digestSeed(rules));
      return read.map((row) => {
        const tenant = evaluate(row);
        return tenant.kind === "desired"
          ? `${tenant.fingerprint} ${canonicalJson({ ...tenant.group })}`
          : JSON.stringify({ ...tenant, bucket: undefined });
      });
    },
  };
}

test("the same rows give the same tenants, in the same order, with the same fingerprints", async () => {
  const postgres = await aSide("postgres");
  const mysql = await aSide("mysql");
  const rows = fc.uniqueArray(aRow, { maxLength: 6, selector: ([id]) => id });
  await fc.assert(
    fc.asyncProperty(rows, async (some) => {
      const [expected, found] = await Promise.all([postgres.tenants(some), mysql.tenants(some)]);
      expect(found).toEqual(expected);
    }),
    { numRuns: rounds(300) },
  );
});
