import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { SecretTokenStore } from "../../../../src/adapters/token-stores/secrets/secret-token-store.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { rejection } from "../../../contracts/collect.ts";
import { secretStoreContract } from "../../../contracts/token-store.ts";
import { aSecretPlace } from "../secrets/a-secret-place.ts";
import { aVault, faultsOf, tokensIn } from "./a-vault.ts";
import { VaultServer } from "./vault-server.ts";

const {
  GROUPSYNC_TEST_VAULT_ADDR: address = "",
  GROUPSYNC_TEST_VAULT_TOKEN: token = "root",
  GROUPSYNC_TEST_VAULT_MOUNT: mount = "secret",
} = process.env;

/** A folder of its own in it, and a server before it that can get in the way. */
async function aRealVault(scope = "default", folder = `groupsync-test-${randomUUID()}/`) {
  const path = [folder, ""] as const;
  const auth = { method: "token", token: new Secret(token) } as const;
  const server = Object.assign(new VaultServer(), { real: address });
  const { store, clock } = await aVault({ mount, auth, path, scope }, server);
  const read = async (endpoint: string): Promise<{ keys?: string[]; data?: Record<string, unknown> }> => {
    const answer = await fetch(`${address}/v1/${mount}/${endpoint}`, { headers: { "x-vault-token": token } });
    return answer.status === 404 ? {} : ((await answer.json()) as { data: object }).data;
  };
  const contents = async () => {
    const { keys = [] } = await read(`metadata/${folder}?list=true`);
    const entries = keys.map(async (key) => [folder + key, (await read(`data/${folder}${key}`)).data ?? {}]);
    return Object.fromEntries(await Promise.all(entries)) as Record<string, Record<string, unknown>>;
  };
  onTestFinished(async () => {
    for (const name of Object.keys(await contents()))
      await fetch(`${address}/v1/${mount}/metadata/${name}`, {
        method: "DELETE",
        headers: { "x-vault-token": token },
      });
  });
  return { server, store, clock, path, contents };
}

describe.skipIf(address === "")("against the one that GROUPSYNC_TEST_VAULT_ADDR names", () => {
  secretStoreContract(
    "a real Vault",
    async () => {
      const { server, store, path, contents } = await aRealVault();
      const world = { secrets: store, contents: async () => tokensIn(await contents()), ...faultsOf(server) };
      return aSecretPlace(world, path);
    },
    { many: 100 },
  );

  test("a real Vault keeps two versions, marked, and takes any id", async () => {
    const { store, clock, path, contents } = await aRealVault();
    const tokens = new SecretTokenStore(store, { path, format: "token" }, clock);
    const ids = ["a/b", "..", ".", "=", "x".repeat(600), "é".repeat(200)];
    for (const version of ["1", "2", "3"]) {
      const written = ids.map((user_group_id) => ({ user_group_id, token: new Secret(version) }));
      expect(await tokens.write(written, null as never)).toEqual(new Map());
      expect([...(await tokens.read(ids)).values()].map((found) => found.reveal())).toEqual(
        ids.map(() => version),
      );
    }
    expect(await tokens.remove(ids, null as never)).toEqual(new Map());
    expect(await contents()).toEqual({});
  });

  test("a real Vault has a secret of another config left alone", async () => {
    const { store, path } = await aRealVault();
    const other = await aRealVault("staging", path[0]);
    const name = `${path[0]}a`;
    await other.store.put(name, new Secret("theirs"), () => false);
    expect(await rejection(store.put(name, new Secret("ours"), () => false))).toMatchObject({
      problem: "refused",
    });
    expect(await rejection(store.remove(name))).toMatchObject({ problem: "refused" });
  });
});
