import { expect, test } from "vitest";
import { FailureWindow } from "../../../src/core/limits/failure-window.ts";

test("the last calls count, and those before them no more", () => {
  const recent = new FailureWindow(3);
  const counts = [true, true, false, true, false, false, false, true].map((hasFailed) => {
    recent.add(hasFailed);
    return recent.failed;
  });
  expect(counts).toEqual([1, 2, 2, 2, 1, 1, 0, 1]);
});
