import { expect, test } from "vitest";
import { tallyLine } from "./tally.ts";

test("the tally adds up the files, and mentions skipped tests only where there are some", () => {
  const files = [
    { passed: 3, failed: 1, skipped: 0 },
    { passed: 2, failed: 0, skipped: 0 },
  ];
  expect(tallyLine(files, 0)).toBe("5 passed, 1 failed");
  expect(tallyLine([...files, { passed: 0, failed: 0, skipped: 4 }], 0)).toBe(
    "5 passed, 1 failed, 4 skipped",
  );
});

test("an error outside of every test is a failure", () => {
  expect(tallyLine([{ passed: 1, failed: 0, skipped: 0 }], 2)).toBe("1 passed, 2 failed");
});
