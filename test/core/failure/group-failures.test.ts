import { expect, test } from "vitest";
import { failingGroup, type RecordedFailure } from "../../../src/core/failure/group-failures.ts";

const at = (hour: number): Date => new Date(Date.UTC(2026, 2, 1, hour));
const CHANGE: RecordedFailure = {
  code: "REFUSED",
  message: "HTTP 422",
  count: 2,
  retryAt: at(5),
  since: at(3),
};
const STORING: RecordedFailure = {
  code: "TOKEN_NOT_STORED",
  message: "permission denied",
  count: 4,
  retryAt: at(6),
  since: at(1),
};

test("a group without a failure is not failing", () => {
  expect(failingGroup("acme", [])).toBeUndefined();
});

test("a single failure is shown as it is", () => {
  expect(failingGroup("acme", [CHANGE])).toEqual({ user_group_id: "acme", ...CHANGE });
});

test("several failures are shown with the first code, all messages, and the earliest times", () => {
  expect(failingGroup("acme", [CHANGE, STORING])).toEqual({
    user_group_id: "acme",
    code: "REFUSED",
    message: "HTTP 422; permission denied",
    count: 4,
    retryAt: at(5),
    since: at(1),
  });
});

test("a message that two failures share is shown once", () => {
  const rotation = { ...CHANGE, message: STORING.message };
  expect(failingGroup("acme", [CHANGE, rotation, STORING])?.message).toBe("HTTP 422; permission denied");
});
