import { describe, expect, it } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { reportOn } from "../../../src/engine/report/run-report.ts";
import { MAX_REPORTED, Tally } from "../../../src/engine/report/tally.ts";

const refused = { code: "REFUSED", message: "no" };
const notStored = { code: "TOKEN_NOT_STORED", message: "disk full" };

describe("a group that fails more than once", () => {
  it("counts once, and is one error with every message", () => {
    const tally = new Tally();
    tally.failed("a", refused);
    tally.failed("a", notStored);
    tally.failed("a", refused);
    expect(tally.counts.failed).toBe(1);
    expect(tally.errors).toEqual([{ user_group_id: "a", code: "REFUSED", message: "no; disk full" }]);
  });
});

it("a group that waits for its next attempt counts as failed, with the time of the attempt", () => {
  const tally = new Tally();
  tally.waits("a", { ...refused, retryAt: new Date("2026-03-01T00:00:00Z") });
  expect(tally.counts.failed).toBe(1);
  expect(tally.errors[0]?.message).toBe("no (next try after 2026-03-01T00:00:00.000Z)");
});

it("other errors are listed one by one and count no failed group", () => {
  const tally = new Tally();
  tally.report("a", refused);
  tally.report("a", refused);
  expect(tally.errors).toHaveLength(2);
  expect(tally.counts.failed).toBe(0);
});

it("the list of errors is limited, the counts are not", () => {
  const tally = new Tally();
  for (let n = 0; n < MAX_REPORTED + 5; n++) tally.failed(String(n), refused);
  expect(tally.errors).toHaveLength(MAX_REPORTED);
  expect(tally.counts.failed).toBe(MAX_REPORTED + 5);
});

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
