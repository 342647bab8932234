import { expect, it } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { reportOn, Tally } from "../../../src/engine/report/run-report.ts";

it("a run without errors is ok, one with failed groups is partial", () => {
  const tally = new Tally();
  expect(reportOn(tally, 5, undefined)).toMatchObject({ outcome: "ok", durationMs: 5, errors: [] });
  tally.failed("a", { code: "REFUSED", message: "no" });
  expect(reportOn(tally, 5, undefined).outcome).toBe("partial");
});

it("a hold outranks failed groups, even if it holds no removal", () => {
  const tally = new Tally();
  tally.failed("a", { code: "REFUSED", message: "no" });
  tally.hold = {
    code: "SOURCE_EMPTY",
    message: "no valid row",
    hint: "look",
    count: 0,
    approval: null,
    groups: [],
    names: new Map(),
  };
  expect(reportOn(tally, 5, undefined).outcome).toBe("held");
});

it("an error that ended the run makes it failed, and comes first in the list", () => {
  const tally = new Tally();
  tally.failed("a", { code: "REFUSED", message: "no" });
  const error = new SyncError("KEY_REFUSED", "HTTP 401");
  const report = reportOn(tally, 5, error);
  expect(report).toMatchObject({ outcome: "failed", error });
  expect(report.errors).toEqual([
    { user_group_id: null, code: "KEY_REFUSED", message: "HTTP 401" },
    { user_group_id: "a", code: "REFUSED", message: "no" },
  ]);
});
