import { expect, test } from "vitest";
import { aTokenPlace, OWN, writeTokens } from "../../sql/tokens/token-place.ts";

test("a token that is larger than the server takes a statement costs its tenant alone", async () => {
  const place = await aTokenPlace(OWN, "with the ledger", undefined, "mysql");
  await place.store.prepare();
  // In a statement each quote takes four bytes, and MariaDB takes 16 MB of them: of more it closes the connection.
  const refused = await writeTokens(place, { a: "token-a", b: '"'.repeat(5_000_000), c: "token-c" });
  expect([...refused]).toEqual([
    [
      "b",
      expect.objectContaining({
        code: "TOKEN_NOT_STORED",
        message: expect.stringContaining("max_allowed_packet"),
      }),
    ],
  ]);
  expect(await place.stored()).toEqual({ a: "token-a", c: "token-c" });
});
