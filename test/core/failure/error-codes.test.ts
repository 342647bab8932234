import { expect, test } from "vitest";
import { errorHelp, remediesOf } from "../../../src/core/failure/error-codes.ts";

test("a code is explained in plain words, with the pages that say more", () => {
  expect(errorHelp("VALUE_EMPTY")).toEqual({
    meaning: "the name, or a value of the mapping, is empty or blank",
    action: "fill the column, or let the row wait with source.ready_when",
    links: ["rows.md#tenants-that-arent-ready"],
  });
  expect(errorHelp("UNHEARD_OF")).toBeUndefined();
});

test("an action is said once, however many groups have its code, and only for codes of rows and groups", () => {
  const codes = ["ID_NULL", "UNHEARD_OF", "ID_TOO_LONG", "LEASE_HELD", "ID_NULL"];
  expect(remediesOf(codes).map(({ code }) => code)).toEqual(["ID_NULL", "ID_TOO_LONG"]);
});
