import { describe, expect, test } from "vitest";
import { hostClock } from "../../../src/adapters/host/clock.ts";
import { SecretTokenStore } from "../../../src/adapters/token-stores/secret-token-store.ts";
import { vaultStore } from "../../../src/adapters/token-stores/vault-store.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { rejection } from "../../contracts/collect.ts";
import { secretStoreContract } from "../../contracts/token-store.ts";
import { realSecretStoreSuite } from "./a-real-store.ts";
import { aSecretPlace, PATH } from "./a-secret-place.ts";
import { aVault, faultsOf, MARKS, tokensIn } from "./servers/vault-server.ts";

const never = () => false;
const secret = (text: string) => new Secret(text);

secretStoreContract(
  "Vault, against a server written from the reference",
  async () => {
    const { server, kv, store } = await aVault();
    return aSecretPlace({
      secrets: store,
      contents: async () => tokensIn(kv.contents()),
      ...faultsOf(server),
      breakDown: () => server.close(),
      makeAnothers: async (name, custom_metadata) => {
        kv.write(name, { token: "theirs" });
        kv.describe(name, { custom_metadata });
      },
    });
  },
  { many: 200 },
);

describe("a secret in Vault, against a server written from the reference", () => {
  test("is one field, marked, and never more than two versions", async () => {
    const { kv, store } = await aVault();
    for (const token of ["one", "two", "three"]) await store.put("t-a", secret(token), never);
    expect(kv.contents()).toEqual({ "t-a": { token: "three" } });
    expect(kv.keys.get("t-a")).toMatchObject({ custom_metadata: MARKS, max_versions: 2, current_version: 3 });
    expect([...kv.keys.get("t-a")!.versions.keys()]).toEqual([2, 3]);
  });

  test("as JSON has the fields that it names, and reads as what was written", async () => {
    const { kv, store, clock } = await aVault({ format: "json" });
    const tokens = new SecretTokenStore(store, { path: PATH, format: "json" }, clock);
    const token = secret('{"token":"inside"}');
    expect(await tokens.put({ user_group_id: "a", token })).toBeUndefined();
    expect(kv.contents()).toEqual({
      "t-a": { user_group_id: "a", token: '{"token":"inside"}', rotated_at: clock.now().toISOString() },
    });
    expect((await tokens.read(["a"])).get("a")?.equals(token)).toBe(true);
  });

  test("that is new is marked before it is written", async () => {
    const { server, store } = await aVault();
    await store.put("t-a", secret("one"), never);
    expect(server.said().slice(-3)).toEqual([
      "GET secret/metadata/t-a",
      "POST secret/metadata/t-a",
      "POST secret/data/t-a",
    ]);
  });

  test("that was marked before a crash is written by the next", async () => {
    const { kv, store } = await aVault();
    kv.describe("t-a", { custom_metadata: MARKS, max_versions: 2 });
    expect(await store.get("t-a")).toBeUndefined();
    await store.put("t-a", secret("one"), never);
    expect(kv.contents()).toEqual({ "t-a": { token: "one" } });
  });

  test("that somebody else makes in between is refused, and isn't marked", async () => {
    const { server, kv, store } = await aVault();
    server.instead = ({ method, path }) => {
      if (method === "POST" && path === "secret/metadata/t-a" && !kv.keys.has("t-a"))
        kv.write("t-a", { token: "theirs" });
      return undefined;
    };
    expect(await rejection(store.put("t-a", secret("ours"), never))).toMatchObject({ problem: "refused" });
    expect(kv.contents()).toEqual({ "t-a": { token: "theirs" } });
    expect(await store.get("t-a")).toMatchObject({ isManaged: false });
  });

  test("that somebody changes in between is not overwritten: the store asks to be asked again", async () => {
    const { server, kv, store } = await aVault();
    await store.put("t-a", secret("one"), never);
    server.instead = ({ method, path }) => {
      if (method === "POST" && path === "secret/data/t-a") kv.write("t-a", { token: "theirs" });
      return undefined;
    };
    expect(await rejection(store.put("t-a", secret("two"), never))).toMatchObject({ problem: "passing" });
    expect(kv.contents()).toEqual({ "t-a": { token: "theirs" } });
  });

  test.each(["delete", "destroy"] as const)(
    "whose version somebody has %sd isn't there, and is written again",
    async (undo) => {
      const { kv, store } = await aVault();
      await store.put("t-a", secret("one"), never);
      kv[undo]("t-a");
      expect(await store.get("t-a")).toBeUndefined();
      await store.put("t-a", secret("two"), () => true);
      expect(kv.contents()).toEqual({ "t-a": { token: "two" } });
      kv[undo]("t-a");
      await store.remove("t-a");
      expect([...kv.keys]).toEqual([]);
    },
  );

  test("whose field somebody has taken away is not good", async () => {
    const { kv, store } = await aVault();
    await store.put("t-a", secret("one"), never);
    kv.write("t-a", { other: "field" });
    expect((await store.get("t-a"))?.content.reveal()).toBe("");
  });
});

realSecretStoreSuite("Vault", "GROUPSYNC_TEST_VAULT_ADDR", (address, scope, prefix) => {
  const { GROUPSYNC_TEST_VAULT_TOKEN: token = "root", GROUPSYNC_TEST_VAULT_MOUNT: mount = "secret" } =
    process.env;
  const auth = { method: "token", token: secret(token) } as const;
  return vaultStore({ address, mount, auth, path: [prefix, ""], format: "token", scope }, hostClock);
});
