import { describe, expect, test } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import type { LedgerTransaction } from "../../src/ports/ledger.ts";
import type { StoredToken, TokenStore } from "../../src/ports/token-store.ts";
import { rejection } from "./collect.ts";
import { everythingIn } from "./everything-in.ts";

/** A place for tokens, for one test. */
export interface TokenPlace {
  readonly store: TokenStore;
  /** Runs `body` in a write of the ledger. */
  write<T>(body: (transaction: LedgerTransaction) => Promise<T>): Promise<T>;
  /** What is stored, by id. */
  stored(): Promise<Readonly<Record<string, string | null>>>;
  /** Makes tokens that begin with `refused` impossible to store, with an error that quotes them. */
  refuseSome(): Promise<void>;
  /** Makes the store as a whole impossible to write. */
  breakDown(): Promise<void>;
}

export const someTokens = (tokens: Readonly<Record<string, string>>): StoredToken[] =>
  Object.entries(tokens).map(([user_group_id, token]) => ({ user_group_id, token: new Secret(token) }));

/** The place can hold tokens for the ids a, b, c and d. */
export function tokenStoreContract(name: string, makePlace: () => Promise<TokenPlace>): void {
  const prepared = async (): Promise<TokenPlace> => {
    const place = await makePlace();
    await place.store.prepare();
    return place;
  };
  const write = ({ store, write }: TokenPlace, tokens: Readonly<Record<string, string>>) =>
    write((transaction) => store.write(someTokens(tokens), transaction));
  const tokensIn = async ({ stored }: TokenPlace) =>
    Object.fromEntries(Object.entries(await stored()).filter(([, token]) => token !== null));

  describe(`${name}: a token store`, () => {
    test("holds nothing at first, prepared or not, and something after a write", async () => {
      const place = await makePlace();
      expect(await place.store.holdsAny()).toBe(false);
      await place.store.prepare();
      expect(await place.store.holdsAny()).toBe(false);
      await write(place, { a: "token-a" });
      expect(await place.store.holdsAny()).toBe(true);
    });

    test("can be prepared again, and keeps what it holds", async () => {
      const place = await prepared();
      await write(place, { a: "token-a" });
      await place.store.prepare();
      expect(await tokensIn(place)).toEqual({ a: "token-a" });
    });

    test("holds the token that was written last", async () => {
      const place = await prepared();
      expect(await write(place, { a: "token-1", b: "token-b" })).toEqual(new Map());
      expect(await write(place, { a: "token-2" })).toEqual(new Map());
      expect(await tokensIn(place)).toEqual({ a: "token-2", b: "token-b" });
    });

    test("keeps any text", async () => {
      const place = await prepared();
      const token = `it's "quoted" \\ %s $1 – ü😀 ${"x".repeat(2000)}\n`;
      await write(place, { a: token });
      expect(await tokensIn(place)).toEqual({ a: token });
    });

    test("a token that it refuses costs that tenant alone, and is not in the error", async () => {
      const place = await prepared();
      await place.refuseSome();
      const refused = await write(place, { a: "token-a", b: "refused-b", c: "token-c", d: "refused-d" });
      expect(await tokensIn(place)).toEqual({ a: "token-a", c: "token-c" });
      expect([...refused.keys()]).toEqual(["b", "d"]);
      for (const error of refused.values()) {
        expect(error).toMatchObject({ code: "TOKEN_NOT_STORED", hint: expect.any(String) });
        expect(everythingIn(error)).not.toMatch(/refused-[bd]/);
      }
    });

    test("says that it can't be written, without the tokens", async () => {
      const place = await prepared();
      await place.breakDown();
      const error = await rejection(write(place, { a: "token-a" }));
      expect(error).toMatchObject({ code: "TOKEN_STORE_UNAVAILABLE", hint: expect.any(String) });
      expect(everythingIn(error)).not.toContain("token-a");
      expect(await rejection(place.store.prepare())).toMatchObject({ code: "TOKEN_STORE_UNAVAILABLE" });
    });
  });
}
