import { expect, test } from "vitest";
import { withoutTokens } from "../../../../src/adapters/sql/tokens/token-refusals.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";

test.each([
  ["refused: ugt_Abcdefgh_1", "the reason quotes the token, and is left out"],
  ["a trigger made UGT_ABCDEFGH_1 of it", "the reason quotes the token, and is left out"],
  ["only gt_abcde fits", "the reason quotes the token, and is left out"],
  ["the column is full", "the column is full"],
])("of a database's error %j an operator sees %j", (message, shown) => {
  const error = Object.assign(new Error(message), { code: "22001", detail: "ugt_Abcdefgh_1" });
  expect(withoutTokens(error, [new Secret("ugt_Abcdefgh_1")])).toEqual(
    Object.assign(new Error(shown), { code: "22001" }),
  );
});
