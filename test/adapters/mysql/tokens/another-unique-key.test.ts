import { expect, test } from "vitest";
import { aTokenPlace, OWN, writeTokens } from "../../sql/tokens/token-place.ts";

test("a token that meets the row of another tenant by another unique key leaves that row alone", async () => {
  const place = await aTokenPlace(OWN, "with the ledger", undefined, "mysql");
  await place.store.prepare();
  await place.tokens.query("ALTER TABLE groupsync_tokens ADD UNIQUE KEY beginnings (token(4))");
  await writeTokens(place, { a: "same of a" });
  const refused = await writeTokens(place, { b: "same of b" });
  expect([...refused.keys()]).toEqual(["b"]);
  expect(await place.stored()).toEqual({ a: "same of a" });
});
