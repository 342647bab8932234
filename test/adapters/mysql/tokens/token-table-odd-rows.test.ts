import { expect, test } from "vitest";
import { aPreparedPlace, NOT_TAKEN, OWN, writeTokens } from "../../sql/tokens/token-place.ts";

test("a row that another unique key is met by keeps its own token", async () => {
  const place = await aPreparedPlace(OWN, "mysql");
  await writeTokens(place, { a: "header.token-a" });
  await place.tokens.query("CREATE UNIQUE INDEX by_token ON groupsync_tokens (token(7))");
  const refused = await writeTokens(place, { b: "header.token-b", c: "token-c" });
  expect([...refused]).toEqual([["b", expect.objectContaining(NOT_TAKEN)]]);
  expect(await place.stored()).toEqual({ a: "header.token-a", c: "token-c" });
});

test("an own row that is written again is stored again, and is then as it was", async () => {
  const place = await aPreparedPlace(OWN, "mysql");
  await writeTokens(place, { a: "token-a" });
  const row = () => place.tokens.query("SELECT * FROM groupsync_tokens");
  const before = await row();
  await place.tokens.query("CREATE TABLE changes (id int AUTO_INCREMENT PRIMARY KEY)");
  await place.tokens.query(
    `CREATE TRIGGER changed AFTER UPDATE ON groupsync_tokens FOR EACH ROW
     IF NOT (OLD.token = NEW.token AND OLD.updated_at = NEW.updated_at) THEN INSERT INTO changes VALUES (); END IF`,
  );
  await writeTokens(place, { a: "token-a" }, { rewrite: true });
  expect(await place.tokens.query("SELECT * FROM changes")).toHaveLength(2);
  expect(await row()).toEqual(before);
});

test("a token that is larger than the server takes a statement costs its tenant alone", async () => {
  const place = await aPreparedPlace(OWN, "mysql");
  // MariaDB takes 16 MB: of more it closes the connection. This token has less, but in a statement a backslash takes four bytes.
  const tooLarge = `${"x".repeat(15_000_000)}${"\\".repeat(500_000)}`;
  const refused = await writeTokens(place, { a: "token-a", b: tooLarge, c: "token-c" });
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
