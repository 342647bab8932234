import { expect, test } from "vitest";
import { namesOf } from "../../../src/core/record/candidates.ts";
import { newRecord } from "../../../src/core/record/record.ts";

test("groups have the names that the service gave back, cut to what a page can show", () => {
  const record = (id: string, serviceName: string | null) =>
    [id, { ...newRecord(id, 0, new Date(0)), serviceName }] as const;
  const records = new Map([
    record("acme", "Acme"),
    record("long", "\u{1f600}".repeat(300)),
    record("begun", null),
  ]);
  expect(namesOf(records)).toEqual(
    new Map([
      ["acme", "Acme"],
      ["long", "\u{1f600}".repeat(200)],
    ]),
  );
});
