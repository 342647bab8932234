import { createServer } from "node:http";
import {
  AggregateAuthenticationError,
  AuthenticationError,
  AuthenticationRequiredError,
  CredentialUnavailableError,
} from "@azure/identity";
import { setLogLevel } from "@azure/logger";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { azureStore } from "../../../src/adapters/token-stores/azure-store.ts";
import { rejection } from "../../contracts/collect.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { listening } from "../../support/servers/listening.ts";
import { aStore, SECRET } from "./servers/azure-server.ts";

/** The endpoint of a managed identity, as an app of Azure's finds it in its environment. */
async function aManagedIdentity(token: string): Promise<URLSearchParams[]> {
  const asked: URLSearchParams[] = [];
  const server = createServer(({ url = "", headers }, response) => {
    asked.push(new URL(url, "http://identity").searchParams);
    const isLetIn = headers["x-identity-header"] === SECRET;
    const expires_on = Math.floor(Date.now() / 1000) + 86_400;
    const body = isLetIn
      ? { access_token: token, expires_on, resource: "https://vault.azure.net", token_type: "Bearer" }
      : { statusCode: 403, message: SECRET };
    response.writeHead(isLetIn ? 200 : 403, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  const { port } = await listening(server);
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("IDENTITY_ENDPOINT", `http://127.0.0.1:${port}/token`);
  vi.stubEnv("IDENTITY_HEADER", SECRET);
  return asked;
}

describe("the login to Key Vault", () => {
  test("is made with Azure's default credentials, such as a managed identity", async () => {
    const { server, access } = await aStore();
    const asked = await aManagedIdentity("login-1");
    const { client } = access;
    const secrets = azureStore({ vaultUrl: server.url, scope: "default" }, { client });
    await secrets.get("a");
    expect(asked[0]?.get("resource")).toBe("https://vault.azure.net");
    expect(server.calls.map(({ token }) => token)).toEqual(["login-1"]);
  });

  test("is not printed by the client, whatever AZURE_LOG_LEVEL says", async () => {
    setLogLevel("verbose");
    const print = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    onTestFinished(() => {
      setLogLevel();
      print.mockRestore();
    });
    const { put } = await aStore();
    await put("a", "token-a");
    expect(print).not.toHaveBeenCalled();
  });

  test("is given up where nobody answers it", async () => {
    const { world, get } = await aStore();
    world.getToken = () => new Promise(() => {});
    const afterMs = AbortSignal.timeout.bind(AbortSignal);
    const limit = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => afterMs(50));
    onTestFinished(() => limit.mockRestore());
    expect(await rejection(get("a"))).toMatchObject({
      problem: "passing",
      message: "the login isn't answered",
    });
  });

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

  test.each([
    new CredentialUnavailableError(SECRET),
    new AuthenticationError(400, { error: "invalid_client", error_description: SECRET }),
    new AuthenticationRequiredError({ scopes: [], message: SECRET }),
    new AggregateAuthenticationError([new Error(SECRET)], SECRET),
  ])(
    "that ends in $name makes the store unavailable, and what that quotes is not passed on",
    async (reason) => {
      const { world, put } = await aStore();
      world.getToken = () => Promise.reject(reason);
      const error = await rejection(put("a", "token-a"));
      expect(error).toMatchObject({ problem: "unavailable", message: "cannot log in" });
      expect(everythingIn(error)).not.toContain(SECRET);
    },
  );

  test("that can't be renewed in the background is used as long as it is good, and leaves no rejection behind", async () => {
    const leftBehind = vi.fn();
    process.on("unhandledRejection", leftBehind);
    vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
    onTestFinished(() => {
      process.off("unhandledRejection", leftBehind);
      vi.useRealTimers();
    });
    const { world, server, put, get } = await aStore();
    // From two minutes before its end on the client tries to get another.
    world.lasts = 60_000;
    server.tokens.add("login-2");
    await put("a", "token-a");
    world.getToken = () => Promise.reject(new CredentialUnavailableError("later"));
    expect(await get("a")).toBe("token-a");
    await vi.advanceTimersByTimeAsync(120_000);
    await new Promise(setImmediate);
    expect(leftBehind).not.toHaveBeenCalled();
    expect(await rejection(get("a"))).toMatchObject({ problem: "unavailable" });
  });

  test("is for the vault that asks for it: another one's challenge is not answered", async () => {
    const { server, world, access } = await aStore();
    const { tlsOptions } = access.client;
    const secrets = azureStore(
      { vaultUrl: server.url, scope: "default" },
      { ...access, client: { tlsOptions } },
    );
    expect(await rejection(secrets.get("a"))).toMatchObject({ problem: "passing" });
    expect(world.logins).toBe(0);
  });
});
