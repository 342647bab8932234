import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { CompositeTokenStore } from "../../../src/adapters/token-stores/composite-token-store.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { TokenStore } from "../../../src/ports/token-store.ts";
import { rejection } from "../../contracts/collect.ts";

const aStore = (methods: Partial<TokenStore> = {}): TokenStore =>
  ({
    write: async () => new Map(),
    remove: async () => new Map(),
    read: async () => new Map(),
    ...methods,
  }) as TokenStore;

const refusing = (message: string): TokenStore =>
  aStore({ write: async () => new Map([["acme", new SyncError("TOKEN_NOT_STORED", message)]]) });

const away = (): TokenStore =>
  aStore({ write: () => Promise.reject(new SyncError("TOKEN_STORE_UNAVAILABLE", "no answer")) });

const TOKENS = [{ user_group_id: "acme", token: new Secret("token") }];
const TRANSACTION = {} as never;

describe("a write", () => {
  test("says that the token is not everywhere if one store refuses it", async () => {
    const refused = await new CompositeTokenStore([aStore(), refusing("full")], []).write(
      TOKENS,
      TRANSACTION,
    );
    expect(refused.get("acme")).toMatchObject({
      code: "TOKEN_NOT_EVERYWHERE",
      message: expect.stringContaining("full"),
    });
  });

  test("has the first refusal if all stores refuse the token", async () => {
    const stores = new CompositeTokenStore([refusing("first")], [refusing("second")]);
    const refused = await stores.write(TOKENS, TRANSACTION);
    expect(refused.get("acme")).toMatchObject({ code: "TOKEN_NOT_STORED", message: "first" });
  });

  test("fails if a store is away, once all the others have ended", async () => {
    let isDone = false;
    const slow = aStore({
      write: async () => {
        await turn();
        isDone = true;
        return new Map();
      },
    });
    const failed = await rejection(new CompositeTokenStore([away()], [slow]).write(TOKENS, TRANSACTION));
    expect(failed).toMatchObject({ code: "TOKEN_STORE_UNAVAILABLE" });
    expect(isDone).toBe(true);
  });

  test("goes on without a store that is away, if it is to get as far as possible", async () => {
    const stores = new CompositeTokenStore([away(), aStore()], []);
    const refused = await stores.write(TOKENS, TRANSACTION, { asFarAsPossible: true });
    expect(refused.get("acme")).toMatchObject({ code: "TOKEN_NOT_EVERYWHERE" });
  });
});

test("a token is read from the first store that has it", async () => {
  const holding = (...entries: [string, string][]): TokenStore =>
    aStore({ read: async () => new Map(entries.map(([id, token]) => [id, new Secret(token)])) });
  const stores = new CompositeTokenStore([holding(["a", "1"])], [holding(["a", "2"], ["b", "3"])]);
  const found = await stores.read(["a", "b"]);
  expect([...found].map(([id, token]) => [id, token.reveal()]).toSorted()).toEqual([
    ["a", "1"],
    ["b", "3"],
  ]);
});

test("tables take turns, because they may share the ledger's transaction", async () => {
  const order: string[] = [];
  const table = (name: string): TokenStore =>
    aStore({
      remove: async () => {
        order.push(`${name} begins`);
        await turn();
        order.push(`${name} ends`);
        return new Map();
      },
    });
  await new CompositeTokenStore([], [table("a"), table("b")]).remove(["acme"], TRANSACTION);
  expect(order).toEqual(["a begins", "a ends", "b begins", "b ends"]);
});

test("stores that are used as one take as many tokens at a time as the one that takes the fewest", () => {
  const stores = new CompositeTokenStore([aStore({ batchSize: 64 })], [aStore({ batchSize: 256 })]);
  expect(stores.batchSize).toBe(64);
});
