import { describe, expect, test } from "vitest";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import { compareIds } from "../../src/core/group/tenant.ts";
import { Secret } from "../../src/core/secret/secret.ts";
import type { OwnersMark } from "../../src/core/tokens/destination.ts";
import type { Refusals } from "../../src/core/tokens/token-copies.ts";
import {
  removeFromTables,
  removeOutside,
  storeInTables,
  storeOutside,
} from "../../src/engine/tokens/store-tokens.ts";
import type { LedgerTransaction } from "../../src/ports/ledger/ledger.ts";
import type { StoredToken, TokenDestination, TokenStore, WriteOptions } from "../../src/ports/token-store.ts";
import { collect, rejection } from "./collect.ts";
import { everythingIn } from "./everything-in.ts";

/** A place for tokens, for one test. */
export interface TokenPlace {
  readonly store: TokenStore;
  /** For a table in the ledger's database. */
  readonly beside?: BesideLedger;
  /** Runs `body` in a write of the ledger. */
  write<T>(body: (transaction: LedgerTransaction) => Promise<T>): Promise<T>;
  /** What is stored, by id. */
  stored(): Promise<Readonly<Record<string, string | null>>>;
  /**
   * Makes tokens that begin with `refused` impossible to write from now on, with an error that quotes them. All of them
   * are for b or d: a place that can't tell by the token goes by these ids.
   */
  refuseSome(): Promise<void>;
  /** Likewise makes tokens that begin with `kept` impossible to remove. */
  keepSome(): Promise<void>;
  /** Makes the store as a whole impossible to reach. */
  breakDown(): Promise<void>;
  /** A secret store refuses its login what concerns these secrets, the owner's mark among all of them. */
  forbid?(which: "those of b and d" | "all"): Promise<void>;
  /** In a secret store, somebody else makes the secret of this id, with these tags and the content "theirs". */
  makeAnothers?(id: string, tags: Readonly<Record<string, string>>): Promise<void>;
}

interface BesideLedger {
  /** Whether it can store a token in one step. */
  readonly storesAtOnce: boolean;
  /** Stores one token under the ledger's lease. */
  writeAtOnce(token: StoredToken): Promise<boolean>;
  /** Another instance takes the lease. */
  loseLease(): Promise<void>;
}

/** For a store that has no table in the ledger's database. */
export const inNoLedger: TokenPlace["write"] = () =>
  Promise.reject(new Error("no ledger writes these tokens"));

type Written = Pick<TokenPlace, "store"> & Partial<Pick<TokenPlace, "write">>;

/** Stores tokens as the engine does, in a write of the ledger if it can. */
export async function writeTokens(
  { store, write = inNoLedger }: Written,
  tokens: Readonly<Record<string, string>>,
  { assertHeld = () => {}, ...options }: WriteOptions & { readonly assertHeld?: () => void } = {},
): Promise<Refusals> {
  const run = { tokens: store, lease: { assertHeld }, signal: new AbortController().signal };
  const outside = await storeOutside(someTokens(tokens), run, options);
  if (!store.tables) return outside;
  return write((transaction) => storeInTables(someTokens(tokens), outside, transaction, run, options));
}

/** Removes tokens, likewise. */
export async function removeTokens(
  { store, write = inNoLedger }: Written,
  ids: readonly string[],
  assertHeld = () => {},
): Promise<Refusals> {
  const run = { tokens: store, lease: { assertHeld }, signal: new AbortController().signal };
  const outside = await removeOutside(ids, run);
  if (!store.tables) return outside;
  return write((transaction) => removeFromTables(ids, outside, transaction, run));
}

export const someTokens = (tokens: Readonly<Record<string, string>>): StoredToken[] =>
  Object.entries(tokens).map(([user_group_id, token]) => ({ user_group_id, token: new Secret(token) }));

/** The place can hold tokens for these ids, a to d if none are given. */
export type MakeTokenPlace = (ids?: readonly string[]) => Promise<TokenPlace>;

/** Ids that a pattern, a comparison or a way of quoting may take for others, or for none. */
const ODD_IDS = [
  "A",
  " a",
  "a ",
  "a%",
  "a_",
  "it's",
  '"a"',
  "\\",
  "{a,b}",
  "NULL",
  "null",
  "0",
  "ä",
  "a\u0308",
  "😀",
  "\n",
];

/** Whether a request is for the secret of b or d. Takes any text that has the secret's name in it. */
export const isOfBOrD = (request: string): boolean => /(?<![\w.])(t-|\/)[bd](?![\w-])/.test(request);

export interface TokenStoreContractOptions {
  /** How many tokens are many: fewer where each is a call. */
  readonly many?: number;
}

/** Those of b and d, whose tokens are in no error. */
function expectRefused(refused: ReadonlyMap<string, SyncError>): void {
  expect([...refused.keys()]).toEqual(["b", "d"]);
  for (const error of refused.values()) {
    expect(error).toMatchObject({ code: "TOKEN_NOT_STORED", hint: expect.any(String) });
    expect(everythingIn(error)).not.toMatch(/refused-[bd]/);
  }
}

export function tokenStoreContract(
  name: string,
  makePlace: MakeTokenPlace,
  { many = 5_000 }: TokenStoreContractOptions = {},
): void {
  const prepared = async (ids?: readonly string[]): Promise<TokenPlace> => {
    const place = await makePlace(ids);
    await place.store.prepare();
    return place;
  };
  const read = async ({ store }: TokenPlace, ids: readonly string[]) =>
    Object.fromEntries([...(await store.read(ids))].map(([id, token]) => [id, token.reveal()]));
  const tokensFor = (ids: readonly string[]) => Object.fromEntries(ids.map((id) => [id, `token-of-${id}`]));
  const tokensIn = async ({ stored }: TokenPlace) =>
    Object.fromEntries(Object.entries(await stored()).filter(([, token]) => token !== null));

  describe(`${name}: a token store`, () => {
    test("changes nothing once it is too late for that", async () => {
      const place = await prepared();
      // The ledger's transaction refuses a late change by itself.
      if (place.store.tables) return;
      await writeTokens(place, { a: "token-a" });
      const assertHeld = (): never => {
        throw new SyncError("LEASE_LOST", "another instance has taken it");
      };
      for (const change of [
        () => writeTokens(place, { a: "newer", b: "token-b" }, { assertHeld }),
        () => removeTokens(place, ["a"], assertHeld),
      ])
        expect(await rejection(change())).toMatchObject({ code: "LEASE_LOST" });
      expect(await tokensIn(place)).toEqual({ a: "token-a" });
    });

    test("lists the groups that have a token in the order of the bytes of their ids, if it lists any", async () => {
      const ids = [...ODD_IDS, "\ue000", "b", "without"];
      const place = await makePlace(ids);
      const list = async (): Promise<string[] | null> => {
        const batches = place.store.destinations[0]?.ids() ?? null;
        return batches && collect(batches);
      };
      const isListed = (await list()) !== null;
      await place.store.prepare();
      await writeTokens(place, tokensFor(ids));
      await removeTokens(place, ["without"]);
      const listed = ids.filter((id) => id !== "without").sort(compareIds);
      expect(await list()).toEqual(isListed ? listed : null);
    });

    test("holds the token that was written last", async () => {
      const place = await prepared();
      expect(await writeTokens(place, { a: "token-1", b: "token-b" })).toEqual(new Map());
      expect(await writeTokens(place, { a: "token-2" })).toEqual(new Map());
      expect(await tokensIn(place)).toEqual({ a: "token-2", b: "token-b" });
    });

    test("keeps any text", async () => {
      const place = await prepared();
      const token = `it's "quoted" \\ %s $1 – ü😀 ${"x".repeat(2000)}\n`;
      await writeTokens(place, { a: token });
      expect(await tokensIn(place)).toEqual({ a: token });
      expect(await read(place, ["a"])).toEqual({ a: token });
    });

    test("reads the tokens that were asked for, and leaves out what it doesn't have", async () => {
      const place = await prepared();
      await writeTokens(place, { a: "token-a", b: "token-b", c: "token-c" });
      expect(await read(place, ["c", "d", "a", "nobody"])).toEqual({ a: "token-a", c: "token-c" });
      expect(await read(place, [])).toEqual({});
    });

    test("removes the tokens that were asked for, and no others; what isn't there is removed already", async () => {
      const place = await prepared();
      await writeTokens(place, { a: "token-a", b: "token-b", c: "token-c" });
      expect(await removeTokens(place, ["a", "c"])).toEqual(new Map());
      expect(await tokensIn(place)).toEqual({ b: "token-b" });
      expect(await read(place, ["a", "b", "c"])).toEqual({ b: "token-b" });
      expect(await writeTokens(place, { a: "token-2" })).toEqual(new Map());
      expect(await read(place, ["a"])).toEqual({ a: "token-2" });

      await removeTokens(place, ["a"]);
      expect(await removeTokens(place, ["a", "b", "c", "nobody"])).toEqual(new Map());
      expect(await removeTokens(place, [])).toEqual(new Map());
      expect(await tokensIn(place)).toEqual({});
    });

    test("ids are met to the letter, however odd", async () => {
      const ids = ["a", ...ODD_IDS];
      const place = await prepared(ids);
      expect(await writeTokens(place, tokensFor(ids))).toEqual(new Map());
      expect(await read(place, ODD_IDS)).toEqual(tokensFor(ODD_IDS));
      for (const id of ODD_IDS) {
        expect(await removeTokens(place, [id])).toEqual(new Map());
        expect(await read(place, [id, "a"])).toEqual(tokensFor(["a"]));
      }
      expect(await tokensIn(place)).toEqual(tokensFor(["a"]));
    });

    test(`${many} at a time`, async () => {
      const ids = Array.from({ length: many }, (_, index) => `tenant-${index}`);
      const place = await prepared(ids);
      expect(await writeTokens(place, tokensFor(ids))).toEqual(new Map());
      expect(await read(place, ids)).toEqual(tokensFor(ids));
      expect(await removeTokens(place, ids.slice(1))).toEqual(new Map());
      expect(await tokensIn(place)).toEqual(tokensFor(["tenant-0"]));
    });

    test("what the ledger takes back is undone if they are in one transaction", async () => {
      const place = await prepared();
      const { tables } = place.store;
      if (!tables) return;
      await writeTokens(place, { a: "token-a", b: "token-b" });
      const undone = place.write(async (transaction) => {
        await tables.write(someTokens({ b: "token-2" }), transaction);
        await tables.remove(["a"], transaction);
        throw new Error("before the commit");
      });
      await expect(undone).rejects.toThrow("before the commit");
      expect(await tokensIn(place)).toEqual({ a: "token-a", b: "token-b" });
    });

    test("a token that it refuses costs that tenant alone, and is not in the error", async () => {
      const place = await prepared();
      await place.refuseSome();
      const refused = await writeTokens(place, {
        a: "token-a",
        b: "refused-b",
        c: "token-c",
        d: "refused-d",
      });
      expect(await tokensIn(place)).toEqual({ a: "token-a", c: "token-c" });
      expectRefused(refused);
    });

    test("a token that is there can be refused where it has to be written again", async () => {
      const place = await prepared();
      const tokens = { a: "token-a", b: "refused-b", c: "token-c", d: "refused-d" };
      await writeTokens(place, tokens);
      await place.refuseSome();
      const refused = await writeTokens(place, tokens, { rewrite: true });
      expectRefused(refused);
      expect(await tokensIn(place)).toEqual(tokens);
    });

    test("what is written again is what is stored, whatever was there before", async () => {
      const place = await prepared();
      await writeTokens(place, { a: "token-a", b: "token-b" });
      const tokens = { a: "token-a", b: "token-b2", c: "token-c" };
      expect(await writeTokens(place, tokens, { rewrite: true })).toEqual(new Map());
      expect(await tokensIn(place)).toEqual(tokens);
    });

    test("stores a token at once if it can, and leaves it to a write otherwise", async () => {
      const place = await prepared();
      if (!place.beside) return;
      const { storesAtOnce, writeAtOnce } = place.beside;
      await writeTokens(place, { a: "token-1", b: "token-b" });
      const [token] = someTokens({ a: "token-2" }) as [StoredToken];
      expect(await writeAtOnce(token)).toBe(storesAtOnce);
      expect(await tokensIn(place)).toEqual({ a: storesAtOnce ? "token-2" : "token-1", b: "token-b" });
    });

    test("stores no token at once that it refuses, or whose writer has lost the lease", async () => {
      const place = await prepared();
      if (!place.beside) return;
      const { writeAtOnce, loseLease } = place.beside;
      await writeTokens(place, { a: "token-a" });
      await place.refuseSome();
      const [refused, taken] = someTokens({ b: "refused-b", a: "token-2" }) as [StoredToken, StoredToken];
      expect(await writeAtOnce(refused)).toBe(false);
      await loseLease();
      expect(await writeAtOnce(taken).catch(({ code }) => code)).toSatisfy(
        (result) => result === false || result === "LEASE_LOST",
      );
      expect(await tokensIn(place)).toEqual({ a: "token-a" });
    });

    test("a token that it doesn't let go costs that tenant alone, and is not in the error", async () => {
      const place = await prepared();
      await writeTokens(place, { a: "token-a", b: "kept-b", c: "token-c", d: "kept-d" });
      await place.keepSome();
      const refused = await removeTokens(place, ["a", "b", "c", "d"]);
      expect(await tokensIn(place)).toEqual({ b: "kept-b", d: "kept-d" });
      expect([...refused.keys()].sort()).toEqual(["b", "d"]);
      for (const error of refused.values()) {
        expect(error).toMatchObject({ code: "TOKEN_NOT_REMOVED", hint: expect.any(String) });
        expect(everythingIn(error)).not.toMatch(/kept-[bd]/);
      }
    });

    describe("the owner's mark", () => {
      const ours: OwnersMark = { name: "default", baseUrl: "https://it's", teamId: null, ledgerId: "L1" };
      const destinationOf = ({ store }: TokenPlace): TokenDestination => {
        const [destination] = store.destinations;
        if (destination === undefined) throw new Error("there is no destination");
        return destination;
      };

      test("is nobody's at first, prepared or not, and then of whoever claims it; it is no token", async () => {
        const place = await makePlace();
        const at = destinationOf(place);
        expect(await at.owner()).toBeNull();
        await place.store.prepare();
        expect(await at.owner()).toBeNull();
        expect(await at.claim(ours, null)).toBe(true);
        expect(await at.owner()).toEqual(ours);
        expect(await at.holdsAny()).toBe(false);
        // The service answers before the first token is written, and its answer shows the team.
        const confirmed = { ...ours, teamId: 7 };
        expect(await at.claim(confirmed, ours)).toBe(true);
        await writeTokens(place, { a: "token-a" });
        expect(await at.holdsAny()).toBe(true);
        await place.store.prepare();
        expect(await at.owner()).toEqual(confirmed);
        expect(await tokensIn(place)).toMatchObject({ a: "token-a" });
      });

      test("doesn't stand for tokens that somebody has removed", async () => {
        const place = await prepared();
        const at = destinationOf(place);
        await at.claim({ ...ours, teamId: 7 }, null);
        await writeTokens(place, { b: "token-b" });
        expect(await at.holdsAny(["a", "b"])).toBe(true);
        await removeTokens(place, ["b"]);
        expect(await at.holdsAny(["a", "b"])).toBe(false);
      });

      test("is replaced by whoever knows it, and by nobody else", async () => {
        const place = await prepared();
        const at = destinationOf(place);
        await at.claim(ours, null);
        const theirs = { ...ours, ledgerId: "L2", teamId: 7 };
        expect(await at.claim(theirs, null)).toBe(false);
        expect(await at.claim(theirs, { ...ours, teamId: 8 })).toBe(false);
        expect(await at.owner()).toEqual(ours);
        expect(await at.claim(theirs, ours)).toBe(true);
        expect(await at.claim(ours, ours)).toBe(false);
        expect(await at.owner()).toEqual(theirs);
      });

      test("is that of one of several who claim it at once", async () => {
        const place = await prepared();
        const at = destinationOf(place);
        const marks = ["L1", "L2", "L3"].map((ledgerId) => ({ ...ours, ledgerId }));
        const claimed = await Promise.all(marks.map((mark) => at.claim(mark, null)));
        expect(claimed.filter((isOurs) => isOurs)).toHaveLength(1);
        expect(await at.owner()).toEqual(marks[claimed.indexOf(true)]);
      });

      test("is given up by whoever knows it, and the tokens stay", async () => {
        const place = await prepared();
        const at = destinationOf(place);
        await at.giveUp(ours);
        await at.claim(ours, null);
        await writeTokens(place, { a: "token-a" });
        await at.giveUp({ ...ours, ledgerId: "L2" });
        expect(await at.owner()).toEqual(ours);
        await at.giveUp(ours);
        expect(await at.owner()).toBeNull();
        await at.giveUp(ours);
        expect(await tokensIn(place)).toEqual({ a: "token-a" });
        expect(await at.claim({ ...ours, ledgerId: "L2" }, null)).toBe(true);
      });
    });

    test("says that it can't be reached, without the tokens", async () => {
      const place = await prepared();
      await writeTokens(place, { a: "token-a" });
      await place.breakDown();
      const { beside } = place;
      const calls = [
        () => writeTokens(place, { a: "token-a" }),
        () => removeTokens(place, ["a"]),
        ...(beside?.storesAtOnce
          ? [() => beside.writeAtOnce(someTokens({ a: "token-a" })[0] as StoredToken)]
          : []),
        () => place.store.read(["a"]),
      ];
      for (const call of calls) {
        const error = await rejection(call());
        expect(error).toMatchObject({ code: "TOKEN_STORE_UNAVAILABLE", hint: expect.any(String) });
        expect(everythingIn(error)).not.toContain("token-a");
      }
      expect(await rejection(place.store.prepare())).toMatchObject({ code: "TOKEN_STORE_UNAVAILABLE" });
    });
  });
}

/** What a store with a secret for each group shows beside that: it refuses one secret as it refuses a lost login. */
export function secretStoreContract(
  name: string,
  makePlace: MakeTokenPlace,
  options?: TokenStoreContractOptions,
): void {
  tokenStoreContract(name, makePlace, options);

  describe(`${name}: a secret store`, () => {
    const tokens = { a: "token-a", b: "token-b", c: "token-c", d: "token-d" };
    const claimed = async (): Promise<TokenPlace> => {
      const place = await makePlace();
      await place.store.prepare();
      const mark: OwnersMark = { name: "default", baseUrl: "https://service", teamId: 1, ledgerId: "L1" };
      expect(await place.store.destinations[0]?.claim(mark, null)).toBe(true);
      return place;
    };
    const changes = (place: TokenPlace) => ({
      write: (rewrite = false) => writeTokens(place, tokens, { rewrite }),
      remove: () => removeTokens(place, Object.keys(tokens)),
      read: async () => [...(await place.store.read(Object.keys(tokens))).keys()].sort(),
    });
    const expectRefused = (refused: ReadonlyMap<string, SyncError>, code: string): void => {
      expect([...refused.keys()]).toEqual(["b", "d"]);
      for (const error of refused.values()) expect(error).toMatchObject({ code, hint: expect.any(String) });
    };

    test("a secret that its login may not touch costs that tenant alone", async () => {
      const place = await claimed();
      const { write, read } = changes(place);
      await place.forbid?.("those of b and d");
      expectRefused(await write(), "TOKEN_NOT_STORED");
      expectRefused(await write(true), "TOKEN_NOT_STORED");
      expect(await read()).toEqual(["a", "c"]);
    });

    test("a token that its login may not touch any more stays, and costs that tenant alone", async () => {
      const place = await claimed();
      const { write, read, remove } = changes(place);
      expect(await write()).toEqual(new Map());
      await place.forbid?.("those of b and d");
      expectRefused(await write(true), "TOKEN_NOT_STORED");
      expect(await read()).toEqual(["a", "c"]);
      expectRefused(await remove(), "TOKEN_NOT_REMOVED");
      expect(Object.keys(await place.stored())).toEqual(expect.arrayContaining(["b", "d"]));
      expect(await read()).toEqual([]);
    });

    test.each([
      ["nobody", {}],
      ["another tool", { "managed-by": "terraform" }],
      ["another config", { "managed-by": "groupsync", "groupsync-name": "other" }],
    ])("a secret of %s is not read, changed or removed", async (_, tags) => {
      const place = await claimed();
      const { write, read, remove } = changes(place);
      for (const id of ["b", "d"]) await place.makeAnothers?.(id, tags);
      expectRefused(await write(), "TOKEN_NOT_STORED");
      expect(await read()).toEqual(["a", "c"]);
      expectRefused(await remove(), "TOKEN_NOT_REMOVED");
      expect(await place.stored()).toMatchObject({ b: "theirs", d: "theirs" });
    });

    test("several that write one secret at once leave one token of theirs", async () => {
      const place = await claimed();
      await writeTokens(place, { a: "former" });
      const written = Array.from({ length: 10 }, (_, n) => `token-${n}`);
      const all = written.map((token) => writeTokens(place, { a: token }));
      expect(await Promise.all(all)).toEqual(written.map(() => new Map()));
      expect(written).toContain((await place.store.read(["a"])).get("a")?.reveal());
    });

    test("ids that no name can hold are told apart all the same", async () => {
      const place = await claimed();
      const ids = ["/../a", "..", ".", "a/b", "a?list=true", "=2F", "é".repeat(500), "x".repeat(600)];
      const odd = Object.fromEntries(ids.map((id) => [id, `"${id}\u0000`]));
      expect(await writeTokens(place, odd)).toEqual(new Map());
      const found = await place.store.read(ids);
      expect(Object.fromEntries([...found].map(([id, token]) => [id, token.reveal()]))).toEqual(odd);
      expect(await removeTokens(place, ids)).toEqual(new Map());
    });

    test("a login that may do nothing any more charges no tenant", async () => {
      const place = await claimed();
      const { write, read, remove } = changes(place);
      expect(await write()).toEqual(new Map());
      await place.forbid?.("all");
      for (const call of [write, remove, read])
        expect(await rejection(call())).toMatchObject({ code: "TOKEN_STORE_UNAVAILABLE" });
    });
  });
}
