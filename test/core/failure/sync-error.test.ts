import { expect, test } from "vitest";
import {
  asSyncError,
  describe,
  interrupted,
  isNoFault,
  isTenantGone,
  isUsageMistake,
  SyncError,
  withHint,
} from "../../../src/core/failure/sync-error.ts";

test.each<[unknown, string]>([
  [new Error("no route"), "no route"],
  [new TypeError(), "TypeError"],
  [new AggregateError([new Error("first"), new Error("second")], "all failed"), "first"],
  [new AggregateError([], "all failed"), "all failed"],
  ["text", "text"],
  [undefined, "undefined"],
])("%j is described as %j", (thrown, text) => {
  expect(describe(thrown)).toBe(text);
});

test("anything thrown becomes a SyncError, with the code INTERNAL if it is a bug", () => {
  const known = new SyncError("LEASE_HELD", "held", { hint: "wait" });
  expect(asSyncError(known)).toBe(known);
  expect(asSyncError(new Error("boom"))).toMatchObject({ code: "INTERNAL", message: "boom" });
});

test("a hint that is added stands behind the hint of the cause", () => {
  const lost = new SyncError("LEASE_LOST", "lost", { hint: "wait" });
  expect(withHint("rotate again", lost)).toMatchObject({ code: "LEASE_LOST", hint: "wait; rotate again" });
  expect(withHint("rotate again", interrupted())).toMatchObject({ hint: "rotate again" });
  const bug = new TypeError("boom");
  expect(withHint("rotate again", bug)).toBe(bug);
});

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
