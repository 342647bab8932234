import { expect, test } from "vitest";
import { type ResolvedTables, tablesText } from "../../../src/core/report/tables-text.ts";

test.each<[ResolvedTables, string]>([
  [{ tokens: [], ledger: null }, ""],
  [{ source: null, tokens: [], ledger: null }, ""],
  [{ source: "public.customers", tokens: [], ledger: null }, "tenants from public.customers"],
  [
    { source: "public.customers", tokens: ["a.tokens", "b.tokens"], ledger: "ops.groupsync_*" },
    "tenants from public.customers, tokens in a.tokens and b.tokens, ledger in ops.groupsync_*",
  ],
  [{ tokens: ["a\nb"], ledger: null }, "tokens in a\\nb"],
])("%j", (tables, text) => {
  expect(tablesText(tables)).toBe(text);
});
