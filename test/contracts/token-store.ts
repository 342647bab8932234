import { describe, expect, test } from "vitest";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import { compareIds } from "../../src/core/group/tenant.ts";
import { Secret } from "../../src/core/secret/secret.ts";
import type { OwnersMark } from "../../src/core/tokens/destination.ts";
import type { LedgerTransaction } from "../../src/ports/ledger/ledger.ts";
import type { StoredToken, TokenDestination, TokenStore } from "../../src/ports/token-store.ts";
import { collect, rejection } from "./collect.ts";
import { everythingIn } from "./everything-in.ts";

/** A place for tokens, for one test. */
export interface TokenPlace {
  readonly store: TokenStore;
  /** Whether tokens and ledger are in one transaction. */
  readonly sharesLedger: boolean;
  /** Whether it can store a token in one step. */
  readonly storesAtOnce: boolean;
  /** Runs `body` in a write of the ledger. */
  write<T>(body: (transaction: LedgerTransaction) => Promise<T>): Promise<T>;
  /** Stores one token under the ledger's lease. */
  writeAtOnce(token: StoredToken): Promise<boolean>;
  /** Another instance takes the lease. */
  loseLease(): Promise<void>;
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
  const write = (
    { store, write }: TokenPlace,
    tokens: Readonly<Record<string, string>>,
    options?: { readonly rewrite: boolean },
  ) => write((transaction) => store.write(someTokens(tokens), transaction, options));
  const remove = ({ store, write }: TokenPlace, ids: readonly string[]) =>
    write((transaction) => store.remove(ids, transaction));
  const read = async ({ store }: TokenPlace, ids: readonly string[]) =>
    Object.fromEntries([...(await store.read(ids))].map(([id, token]) => [id, token.reveal()]));
  const tokensFor = (ids: readonly string[]) => Object.fromEntries(ids.map((id) => [id, `token-of-${id}`]));
  const tokensIn = async ({ stored }: TokenPlace) =>
    Object.fromEntries(Object.entries(await stored()).filter(([, token]) => token !== null));

  describe(`${name}: a token store`, () => {
    test("changes nothing once it is too late for that", async () => {
      const place = await prepared();
      await write(place, { a: "token-a" });
      const before = await tokensIn(place);
      const assertHeld = (): never => {
        throw new SyncError("LEASE_LOST", "another instance has taken it");
      };
      const changes = [
        (to: LedgerTransaction) =>
          place.store.write(someTokens({ a: "newer", b: "token-b" }), to, { assertHeld }),
        (to: LedgerTransaction) => place.store.remove(["a"], to, { assertHeld }),
      ];
      for (const change of changes)
        expect(await rejection(place.write(change))).toMatchObject({ code: "LEASE_LOST" });
      expect(await tokensIn(place)).toEqual(before);
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
      await write(place, tokensFor(ids));
      await remove(place, ["without"]);
      const listed = ids.filter((id) => id !== "without").sort(compareIds);
      expect(await list()).toEqual(isListed ? listed : null);
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
      expect(await read(place, ["a"])).toEqual({ a: token });
    });

    test("reads the tokens that were asked for, and leaves out what it doesn't have", async () => {
      const place = await prepared();
      await write(place, { a: "token-a", b: "token-b", c: "token-c" });
      expect(await read(place, ["c", "d", "a", "nobody"])).toEqual({ a: "token-a", c: "token-c" });
      expect(await read(place, [])).toEqual({});
    });

    test("removes the tokens that were asked for, and no others; what isn't there is removed already", async () => {
      const place = await prepared();
      await write(place, { a: "token-a", b: "token-b", c: "token-c" });
      expect(await remove(place, ["a", "c"])).toEqual(new Map());
      expect(await tokensIn(place)).toEqual({ b: "token-b" });
      expect(await read(place, ["a", "b", "c"])).toEqual({ b: "token-b" });
      expect(await write(place, { a: "token-2" })).toEqual(new Map());
      expect(await read(place, ["a"])).toEqual({ a: "token-2" });

      await remove(place, ["a"]);
      expect(await remove(place, ["a", "b", "c", "nobody"])).toEqual(new Map());
      expect(await remove(place, [])).toEqual(new Map());
      expect(await tokensIn(place)).toEqual({});
    });

    test("ids are met to the letter, however odd", async () => {
      const ids = ["a", ...ODD_IDS];
      const place = await prepared(ids);
      expect(await write(place, tokensFor(ids))).toEqual(new Map());
      expect(await read(place, ODD_IDS)).toEqual(tokensFor(ODD_IDS));
      for (const id of ODD_IDS) {
        expect(await remove(place, [id])).toEqual(new Map());
        expect(await read(place, [id, "a"])).toEqual(tokensFor(["a"]));
      }
      expect(await tokensIn(place)).toEqual(tokensFor(["a"]));
    });

    test(`${many} at a time`, async () => {
      const ids = Array.from({ length: many }, (_, index) => `tenant-${index}`);
      const place = await prepared(ids);
      expect(await write(place, tokensFor(ids))).toEqual(new Map());
      expect(await read(place, ids)).toEqual(tokensFor(ids));
      expect(await remove(place, ids.slice(1))).toEqual(new Map());
      expect(await tokensIn(place)).toEqual(tokensFor(["tenant-0"]));
    });

    test("what the ledger takes back is undone where they are in one transaction, and stays where not", async () => {
      const place = await prepared();
      await write(place, { a: "token-a", b: "token-b" });
      const undone = place.write(async (transaction) => {
        await place.store.write(someTokens({ b: "token-2" }), transaction);
        await place.store.remove(["a"], transaction);
        throw new Error("before the commit");
      });
      await expect(undone).rejects.toThrow("before the commit");
      expect(await tokensIn(place)).toEqual(
        place.sharesLedger ? { a: "token-a", b: "token-b" } : { b: "token-2" },
      );
    });

    test("a token that it refuses costs that tenant alone, and is not in the error", async () => {
      const place = await prepared();
      await place.refuseSome();
      const refused = await write(place, { a: "token-a", b: "refused-b", c: "token-c", d: "refused-d" });
      expect(await tokensIn(place)).toEqual({ a: "token-a", c: "token-c" });
      expectRefused(refused);
    });

    test("a token that is there can be refused where it has to be written again", async () => {
      const place = await prepared();
      const tokens = { a: "token-a", b: "refused-b", c: "token-c", d: "refused-d" };
      await write(place, tokens);
      await place.refuseSome();
      const refused = await write(place, tokens, { rewrite: true });
      expectRefused(refused);
      expect(await tokensIn(place)).toEqual(tokens);
    });

    test("what is written again is what is stored, whatever was there before", async () => {
      const place = await prepared();
      await write(place, { a: "token-a", b: "token-b" });
      const tokens = { a: "token-a", b: "token-b2", c: "token-c" };
      expect(await write(place, tokens, { rewrite: true })).toEqual(new Map());
      expect(await tokensIn(place)).toEqual(tokens);
    });

    test("stores a token at once where it can, and leaves it to a write elsewhere", async () => {
      const place = await prepared();
      await write(place, { a: "token-1", b: "token-b" });
      const [token] = someTokens({ a: "token-2" }) as [StoredToken];
      expect(await place.writeAtOnce(token)).toBe(place.storesAtOnce);
      expect(await tokensIn(place)).toEqual({ a: place.storesAtOnce ? "token-2" : "token-1", b: "token-b" });
    });

    test("stores no token at once that it refuses, or whose writer has lost the lease", async () => {
      const place = await prepared();
      await write(place, { a: "token-a" });
      await place.refuseSome();
      const [refused, taken] = someTokens({ b: "refused-b", a: "token-2" }) as [StoredToken, StoredToken];
      expect(await place.writeAtOnce(refused)).toBe(false);
      await place.loseLease();
      expect(await place.writeAtOnce(taken).catch(({ code }) => code)).toSatisfy(
        (result) => result === false || result === "LEASE_LOST",
      );
      expect(await tokensIn(place)).toEqual({ a: "token-a" });
    });

    test("a token that it doesn't let go costs that tenant alone, and is not in the error", async () => {
      const place = await prepared();
      await write(place, { a: "token-a", b: "kept-b", c: "token-c", d: "kept-d" });
      await place.keepSome();
      const refused = await remove(place, ["a", "b", "c", "d"]);
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
        await write(place, { a: "token-a" });
        expect(await at.holdsAny()).toBe(true);
        await place.store.prepare();
        expect(await at.owner()).toEqual(confirmed);
        expect(await tokensIn(place)).toMatchObject({ a: "token-a" });
      });

      test("doesn't stand for tokens that somebody has removed", async () => {
        const place = await prepared();
        const at = destinationOf(place);
        await at.claim({ ...ours, teamId: 7 }, null);
        await write(place, { b: "token-b" });
        expect(await at.holdsAny(["a", "b"])).toBe(true);
        await remove(place, ["b"]);
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
        await write(place, { a: "token-a" });
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
      await write(place, { a: "token-a" });
      await place.breakDown();
      const calls = [
        () => write(place, { a: "token-a" }),
        () => remove(place, ["a"]),
        ...(place.storesAtOnce
          ? [() => place.writeAtOnce(someTokens({ a: "token-a" })[0] as StoredToken)]
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
    const changes = ({ store, write }: TokenPlace) => ({
      write: (rewrite = false) => write((to) => store.write(someTokens(tokens), to, { rewrite })),
      remove: () => write((to) => store.remove(Object.keys(tokens), to)),
      read: async () => [...(await store.read(Object.keys(tokens))).keys()].sort(),
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
      const { store, write } = await claimed();
      await write((to) => store.write(someTokens({ a: "former" }), to));
      const written = Array.from({ length: 10 }, (_, n) => `token-${n}`);
      const all = written.map((token) => write((to) => store.write(someTokens({ a: token }), to)));
      expect(await Promise.all(all)).toEqual(written.map(() => new Map()));
      expect(written).toContain((await store.read(["a"])).get("a")?.reveal());
    });

    test("ids that no name can hold are told apart all the same", async () => {
      const { store, write } = await claimed();
      const ids = ["/../a", "..", ".", "a/b", "a?list=true", "=2F", "é".repeat(500), "x".repeat(600)];
      const odd = Object.fromEntries(ids.map((id) => [id, `"${id}\u0000`]));
      expect(await write((to) => store.write(someTokens(odd), to))).toEqual(new Map());
      const found = await store.read(ids);
      expect(Object.fromEntries([...found].map(([id, token]) => [id, token.reveal()]))).toEqual(odd);
      expect(await write((to) => store.remove(ids, to))).toEqual(new Map());
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
