import { expect, test } from "vitest";
import { asText } from "../../../../src/adapters/sql/source/cells.ts";
import {
  isTrue,
  selectBuckets,
  selectRows,
  selectRowsOf,
  type TenantQuery,
  tenantRow,
} from "../../../../src/adapters/sql/source/tenant-query.ts";

const aQuery = (parts: Partial<TenantQuery> = {}): TenantQuery => ({
  relation: "customers",
  columns: "SELECT id, plan FROM customers LIMIT 0",
  conditions: [],
  removed: undefined,
  notReady: undefined,
  selected: ["id", "plan"],
  parsers: [],
  order: "id",
  bucket: "bucket_of_id",
  digest: "digest_of_row",
  selectSums: (from) => `SELECT sums ${from}`,
  inBuckets: (buckets) => `bucket_of_id IN (${buckets.join(", ")})`,
  idsHeld: async (ids) => ids,
  hasIdOf: (ids) => `id IN (${ids.join(", ")})`,
  ...parts,
});

const onOneLine = (sql: string): string => sql.replace(/\s+/g, " ");

test("all rows come with bucket and digest, ordered by the id", () => {
  expect(onOneLine(selectRows(aQuery()))).toBe(
    "SELECT bucket_of_id, digest_of_row, id, plan FROM customers ORDER BY id",
  );
});

test("rows that are removed or not ready come with a mark as their last column", () => {
  const selected = (parts: Partial<TenantQuery>): string => onOneLine(selectRows(aQuery(parts)));
  expect(selected({ removed: "gone" })).toContain("plan, CASE WHEN gone THEN 'removed' END FROM");
  expect(selected({ notReady: "new" })).toContain("plan, CASE WHEN new THEN 'not ready' END FROM");
  expect(selected({ removed: "gone", notReady: "new" })).toContain(
    "plan, CASE WHEN gone THEN 'removed' WHEN new THEN 'not ready' END FROM",
  );
});

test.each([
  [null, false, false],
  ["removed", true, false],
  ["not ready", false, true],
])("the mark %s", (mark, removed, notReady) => {
  expect(tenantRow({ parsers: [asText] }, [7, "4711", "acme", mark])).toEqual({
    cells: ["acme"],
    digest: { bucket: 7, digest: "4711" },
    removed,
    notReady,
  });
});

test("buckets and conditions restrict the rows together", () => {
  expect(onOneLine(selectRows(aQuery({ conditions: ["active"] }), [3, 7]))).toContain(
    "WHERE (active ) AND (bucket_of_id IN (3, 7) )",
  );
});

test("ids and conditions restrict the rows together", () => {
  expect(onOneLine(selectRowsOf(aQuery({ conditions: ["active"] }), ["a", "b"]))).toContain(
    "WHERE (active ) AND (id IN (a, b) )",
  );
});

test("the sums of buckets leave removed rows out", () => {
  expect(onOneLine(selectBuckets(aQuery({ removed: "gone" })))).toBe(
    "SELECT sums FROM customers WHERE (NOT gone )",
  );
});

test("a comment at the end of a predicate does not swallow what follows", () => {
  expect(isTrue("active -- for now")).toBe("((active -- for now\n) IS TRUE)");
});
