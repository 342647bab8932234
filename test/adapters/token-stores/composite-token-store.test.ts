import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { compositeTokenStore } from "../../../src/adapters/token-stores/composite-token-store.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { OutsideStore, TokenStore, TokenTables } from "../../../src/ports/token-store.ts";
import { rejection } from "../../contracts/collect.ts";

const aStore = (methods: Partial<TokenStore>): TokenStore =>
  ({ read: async () => new Map(), ...methods }) as TokenStore;

const outside = (put: OutsideStore["put"] = async () => undefined): TokenStore =>
  aStore({ outside: { put, drop: async () => undefined } });

const refusing = (message: string): TokenStore =>
  outside(async () => new SyncError("TOKEN_NOT_STORED", message));

const away = (): TokenStore =>
  outside(() => Promise.reject(new SyncError("TOKEN_STORE_UNAVAILABLE", "no answer")));

const TOKEN = { user_group_id: "acme", token: new Secret("token") };

const put = (...stores: readonly TokenStore[]) => compositeTokenStore(stores).outside?.put(TOKEN);

describe("to put a token", () => {
  test("says that the token is not everywhere if one store refuses it", async () => {
    expect(await put(outside(), refusing("full"))).toMatchObject({
      code: "TOKEN_NOT_EVERYWHERE",
      message: expect.stringContaining("full"),
    });
  });

  test("has the first refusal if all stores refuse the token", async () => {
    const refusal = { code: "TOKEN_NOT_STORED", message: "first" };
    expect(await put(refusing("first"), refusing("second"))).toMatchObject(refusal);
  });

  test("fails if a store is away, once all the others have ended", async () => {
    let isDone = false;
    const slow = outside(async () => {
      await turn();
      isDone = true;
      return undefined;
    });
    const failed = await rejection(put(away(), slow) ?? Promise.resolve());
    expect(failed).toMatchObject({ code: "TOKEN_STORE_UNAVAILABLE" });
    expect(isDone).toBe(true);
  });
});

test("a token is read from the first store that has it", async () => {
  const holding = (...entries: [string, string][]): TokenStore =>
    aStore({ read: async () => new Map(entries.map(([id, token]) => [id, new Secret(token)])) });
  const stores = compositeTokenStore([holding(["a", "1"]), holding(["a", "2"], ["b", "3"])]);
  const found = await stores.read(["a", "b"]);
  expect([...found].map(([id, token]) => [id, token.reveal()]).toSorted()).toEqual([
    ["a", "1"],
    ["b", "3"],
  ]);
});

test("tables take turns, because they share the ledger's transaction", async () => {
  const order: string[] = [];
  const table = (name: string): TokenStore => {
    const remove = async () => {
      order.push(`${name} begins`);
      await turn();
      order.push(`${name} ends`);
      return new Map();
    };
    return aStore({ tables: { remove } as Partial<TokenTables> as TokenTables });
  };
  const { tables, outside } = compositeTokenStore([table("a"), table("b")]);
  expect(outside).toBeUndefined();
  await tables?.remove(["acme"], {} as never);
  expect(order).toEqual(["a begins", "a ends", "b begins", "b ends"]);
});
