import { describe, expect, test } from "vitest";
import { AzureStore } from "../../../src/adapters/token-stores/azure.ts";
import { rejection } from "../../contracts/collect.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { aStore, NoLogin, SECRET } from "./a-key-vault.ts";

describe("the login to Key Vault", () => {
  test("answers the vault's challenge, and no secret is sent before", async () => {
    const { server, put } = await aStore();
    await put("a", "token-a");
    expect(server.calls.map(({ token }) => token)).toEqual(["login-1", "login-1"]);
  });

  test("is made again, once, where it is refused in the middle of a run", async () => {
    const { world, server, put, get } = await aStore();
    await put("a", "token-a");
    server.tokens.clear();
    server.tokens.add("login-2");
    await put("a", "token-2");
    expect(await get("a")).toBe("token-2");
    expect(world.logins).toBe(2);
    server.tokens.clear();
    expect(await rejection(put("a", "token-3"))).toMatchObject({ problem: "unavailable" });
  });

  test("that can't be had makes the store unavailable, and what it quotes is not passed on", async () => {
    const { world, put } = await aStore();
    world.getToken = async () => {
      throw new NoLogin(`the client secret ${SECRET}`);
    };
    const error = await rejection(put("a", "token-a"));
    expect(error).toMatchObject({ problem: "unavailable", message: "cannot log in" });
    expect(everythingIn(error)).not.toContain(SECRET);
  });

  // Vitest fails a file in which a rejection is left behind.
  test("that can't be renewed in the background is used as long as it is good", async () => {
    const { world, server, put, get } = await aStore();
    world.lasts = 2_000;
    server.tokens.add("login-2");
    await put("a", "token-a");
    world.getToken = async () => {
      throw new NoLogin("later");
    };
    expect(await get("a")).toBe("token-a");
    await expect
      .poll(() => rejection(get("a")), { timeout: 10_000 })
      .toMatchObject({ problem: "unavailable" });
  });

  test("is for the vault that asks for it: another one's challenge is not answered", async () => {
    const { server, world, access } = await aStore();
    const { tlsOptions } = access.client;
    const secrets = new AzureStore(
      { vaultUrl: server.url, scope: "default" },
      { ...access, client: { tlsOptions } },
    );
    expect(await rejection(secrets.prepare())).toMatchObject({ problem: "slow" });
    expect(world.logins).toBe(0);
  });
});
