import { expect, test } from "vitest";
import { remediesOf } from "../../../src/core/failure/remedies.ts";
import { pageText } from "../../support/pages.ts";

test("every code that a row or a single group can have says what an operator does", () => {
  const [, rows = "", groups = ""] =
    /^## Rows of the source$(.*)^## Single groups$(.*)^## Something is held$/ms.exec(
      pageText("docs/errors.md"),
    ) ?? [];
  const codes = [...`${rows}${groups}`.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, code = ""]) => code);
  expect(codes.length).toBeGreaterThan(20);
  expect(codes.filter((code) => remediesOf([code]).length === 0)).toEqual([]);
});

test("an action is said once, however many groups have its code", () => {
  expect(remediesOf(["ID_NULL", "UNHEARD_OF", "ID_TOO_LONG", "ID_NULL"]).map(({ code }) => code)).toEqual([
    "ID_NULL",
    "ID_TOO_LONG",
  ]);
});
