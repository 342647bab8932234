import { expect, test } from "vitest";
import { asSyncError, describe, interrupted, SyncError } from "../../../src/core/failure/sync-error.ts";

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

test("a run that was told to stop says what the next sync does", () => {
  expect(interrupted()).toMatchObject({
    code: "INTERRUPTED",
    hint: "the answers so far are recorded; the next sync goes on from there",
  });
});
