import { expect, test } from "vitest";
import { isNoFault, isTenantGone, isUsageMistake, tenantGone } from "../../../src/core/failure/sync-error.ts";

test.each<[code: string, fits: readonly ("usage" | "no fault" | "gone")[]]>([
  ["UNKNOWN_ID", ["usage"]],
  ["INTERRUPTED", ["no fault"]],
  ["LEASE_HELD", ["no fault"]],
  ["LEASE_HANDED_OVER", ["no fault"]],
  ["TENANT_GONE", ["gone"]],
  ["SOURCE_UNAVAILABLE", []],
])("%s is %j", (code, kinds) => {
  const failure = { code, message: "" };
  expect([
    ...(isUsageMistake(failure) ? ["usage"] : []),
    ...(isNoFault(failure) ? ["no fault"] : []),
    ...(isTenantGone(failure) ? ["gone"] : []),
  ]).toEqual(kinds);
});

test("a tenant that is gone has a failure of its own", () => {
  expect(isTenantGone(tenantGone("its tenant is gone"))).toBe(true);
});
