import { expect, test } from "vitest";
import { serviceFailures } from "../../../build/docs/service-failures.ts";
import { SERVICE_FAILURES } from "../../../src/core/failure/service-failure.ts";

test("has every failure that an answer shows, with what it means for the run", () => {
  const rows = serviceFailures().split("\n").slice(2, -1);
  const codes = rows.map((row) => /`([A-Z_]+)` \|/.exec(row)?.[1]);
  expect(codes.toSorted()).toEqual(
    Object.keys(SERVICE_FAILURES)
      .filter((code) => code !== "TOKEN_SHARED")
      .sort(),
  );
});
