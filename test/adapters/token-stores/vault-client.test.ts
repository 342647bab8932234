import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Secret } from "../../../src/core/secret/secret.ts";
import { rejection } from "../../contracts/collect.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { expectEachToFail } from "./a-secret-place.ts";
import type { JsonReply } from "./servers/json-server.ts";
import { approle, aVault, JWT, VaultServer } from "./servers/vault-server.ts";

const never = () => false;
const secret = (text: string) => new Secret(text);

describe("a login to Vault, against a server written from the reference", () => {
  const logins = (server: VaultServer) => server.said().filter((line) => line.endsWith("/login")).length;
  const renewals = (server: VaultServer) =>
    server.said().filter((line) => line.endsWith("/renew-self")).length;

  test("by AppRole is made once, and given back at the end", async () => {
    const { server, store } = await aVault(approle);
    await Promise.all(["t-a", "t-b", "t-c"].map((name) => store.put(name, secret(name), never)));
    expect(logins(server)).toBe(1);
    await store.close();
    expect([...server.tokens]).toEqual([server.rootToken]);
  });

  test("that can't be given back holds nobody up", async () => {
    const { server, store } = await aVault(approle);
    await store.inspect();
    server.instead = () => "silence";
    await store.close();
    expect(server.said()).toContain("POST auth/token/revoke-self");
  });

  test("by a service account reads its token anew each time", async () => {
    const folder = await mkdtemp(join(tmpdir(), "groupsync-vault-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const tokenFile = join(folder, "token");
    const auth = { method: "kubernetes", mount: "kubernetes", role: "groupsync", tokenFile } as const;
    const { server, store } = await aVault({ auth });
    expect(await rejection(store.inspect())).toMatchObject({
      problem: "unavailable",
      message: expect.stringContaining(tokenFile),
    });
    await writeFile(tokenFile, `${JWT}-expired`);
    const error = await rejection(store.inspect());
    expect(error).toMatchObject({
      problem: "unavailable",
      hint: expect.stringContaining("tokens.auth.role"),
    });
    expect(everythingIn(error)).not.toContain(JWT);
    await writeFile(tokenFile, `${JWT}\n`);
    await store.put("t-a", secret("one"), never);
    expect(logins(server)).toBe(2);
  });

  test("that is refused says so, without the secret_id", async () => {
    const { server, store } = await aVault({
      auth: { ...approle.auth, secretId: secret("an-old-secret-id") },
    });
    server.instead = ({ body }) => ({ status: 400, body: { errors: [JSON.stringify(body)] } });
    const error = await rejection(store.inspect());
    expect(error).toMatchObject({ problem: "unavailable", hint: expect.stringContaining("secret_id") });
    expect(everythingIn(error)).not.toContain("an-old-secret-id");
  });

  test("is renewed when half of its lease is over", async () => {
    const { server, store, time } = await aVault(approle);
    await store.get("t-a");
    await time.sleep(1_799_000);
    await store.get("t-a");
    expect(renewals(server)).toBe(0);
    await time.sleep(1_000);
    await Promise.all([store.get("t-a"), store.get("t-b")]);
    expect([renewals(server), logins(server)]).toEqual([1, 1]);
  });

  test("is made anew where it can't be renewed, or not for long", async () => {
    for (const change of [
      { lease: { lease_duration: 3600, renewable: false } },
      { renewed: { lease_duration: 60, renewable: true } },
    ]) {
      const { server, store, time } = await aVault(approle, Object.assign(new VaultServer(), change));
      await store.get("t-a");
      await time.sleep(1_800_000);
      await store.get("t-a");
      expect(logins(server)).toBe(2);
    }
  });

  test("that ended in the middle of a run is made anew once, for all", async () => {
    const { server, store } = await aVault(approle);
    await store.put("t-a", secret("one"), never);
    server.tokens.clear();
    const found = await Promise.all(Array.from({ length: 8 }, () => store.get("t-a")));
    expect(found.map((one) => one?.content.reveal())).toEqual(Array(8).fill("one"));
    expect(logins(server)).toBe(2);
  });

  test("with a token is renewed too, and can't be made anew", async () => {
    const { server, store, time } = await aVault();
    await store.get("t-a");
    await time.sleep(1_800_000);
    await store.get("t-a");
    expect(renewals(server)).toBe(1);
    server.tokens.clear();
    const error = await rejection(store.get("t-a"));
    expect(error).toMatchObject({ problem: "unavailable" });
    expect(everythingIn(error)).not.toContain(server.rootToken);
  });

  test("with a token that may not look at itself is good all the same", async () => {
    const { server, store } = await aVault();
    server.instead = ({ path }) =>
      path === "auth/token/lookup-self"
        ? { status: 403, body: { errors: ["permission denied"] } }
        : undefined;
    await store.put("t-a", secret("one"), never);
    expect(await store.get("t-a")).toMatchObject({ isManaged: true });
  });
});

describe("what Vault answers, against a server written from the reference", () => {
  const html = "<html>s3cr3t</html>";
  const notVaults = { problem: "unavailable", message: expect.stringContaining("isn't Vault's") };
  const everywhere = {
    errors: ["s3cr3t"],
    warnings: ["s3cr3t"],
    data: { error: "s3cr3t" },
    request_id: "s3cr3t",
  };
  const failures: [string, JsonReply, object][] = [
    [
      "429",
      { status: 429, body: everywhere, headers: { "retry-after": "7" } },
      { problem: "throttled", retryAfterMs: 7000 },
    ],
    ["412", { status: 412, body: everywhere }, { problem: "passing" }],
    [
      "an engine that is being upgraded",
      { status: 400, body: { errors: ["Upgrading from non-versioned to versioned data. s3cr3t"] } },
      { problem: "passing" },
    ],
    ["500", { status: 500, body: everywhere }, { problem: "passing" }],
    [
      "a standby's redirect",
      { status: 307, headers: { location: "http://s3cr3t/" } },
      { problem: "passing" },
    ],
    ["502 in HTML", { status: 502, body: html }, { problem: "passing" }],
    [
      "503, sealed",
      { status: 503, body: { errors: ["Vault is sealed", "s3cr3t"] } },
      { problem: "unavailable" },
    ],
    ["403", { status: 403, body: everywhere }, { problem: "unavailable" }],
    ["400 in HTML", { status: 400, body: html }, notVaults],
    ["403 in HTML", { status: 403, body: html }, notVaults],
    ["200 in HTML", { status: 200, body: html }, { problem: "unavailable" }],
    ["200 and another JSON", { status: 200, body: { s3cr3t: "s3cr3t" } }, { problem: "unavailable" }],
    ["404 in HTML", { status: 404, body: html }, notVaults],
    ["no engine", { status: 404, body: { errors: ["no handler for s3cr3t"] } }, { problem: "unavailable" }],
    [
      "an endless answer",
      { status: 200, body: "x".repeat(17 * 1024 * 1024) },
      { problem: "unavailable", message: expect.stringContaining("EXCEEDED") },
    ],
  ];
  test.each(failures)("%s", async (_, reply, expected) => {
    const { server, store } = await aVault();
    server.instead = ({ path }) => (path.startsWith("auth/") ? undefined : reply);
    await expectEachToFail(store, expected, /s3cr3t/);
  });

  test("a write that Vault refuses fails for that secret alone", async () => {
    const { server, store } = await aVault();
    for (const status of [400, 413, 422]) {
      server.instead = ({ method }) => (method === "POST" ? { status, body: everywhere } : undefined);
      const error = await rejection(store.put("t-a", secret("s3cr3t"), never));
      expect(error).toMatchObject({ problem: "refused" });
      expect(everythingIn(error)).not.toContain("s3cr3t");
    }
  });

  test("an answer by a proxy doesn't count as a write", async () => {
    const { server, store } = await aVault();
    server.instead = ({ method, path }) =>
      method === "POST" && path.startsWith("secret/metadata") ? { status: 200, body: html } : undefined;
    expect(await rejection(store.put("t-a", secret("s3cr3t"), never))).toMatchObject({
      problem: "unavailable",
    });
    expect(server.kv.contents()).toEqual({});
    server.instead = ({ path }) => (path.startsWith("secret/data") ? { status: 200, body: html } : undefined);
    expect(await rejection(store.put("t-a", secret("s3cr3t"), never))).toMatchObject({
      problem: "unavailable",
    });
  });

  test("a lack of rights names the policy", async () => {
    const { server, store } = await aVault({ path: ["dashboards/t-", ""] });
    server.instead = ({ path }) =>
      path.startsWith("secret/") ? { status: 403, body: { errors: ["permission denied"] } } : undefined;
    expect(await rejection(store.get("dashboards/t-a"))).toMatchObject({
      hint:
        "its policy needs create, read and update on secret/data/dashboards/t-*, and create, read, update and delete " +
        "on secret/metadata/dashboards/t-*",
    });
  });

  test("silence ends after a while, and is retried", async () => {
    const { server, store } = await aVault();
    await store.inspect();
    server.instead = () => "silence";
    expect(await rejection(store.get("t-a"))).toMatchObject({ problem: "passing" });
  });

  test("a name that doesn't resolve is not retried", async () => {
    const { store } = await aVault({ address: "http://vault.invalid" });
    expect(await rejection(store.get("t-a"))).toMatchObject({ problem: "unavailable" });
  });

  test.each([
    ["version 1", { type: "kv", options: { version: "1" } }],
    ["an engine of another type", { type: "database", options: null }],
  ])("%s is said at once", async (_, engine) => {
    const { server, store } = await aVault();
    await store.inspect();
    server.engine = engine;
    expect(await rejection(store.inspect())).toMatchObject({
      problem: "unavailable",
      hint: expect.stringContaining("tokens.mount"),
    });
  });

  test("a namespace is named in each request, and the login's", async () => {
    const server = new VaultServer();
    server.namespace = "teams/data";
    const { store } = await aVault({ ...approle, namespace: "teams/data" }, server);
    await store.put("t-a", secret("one"), never);
    expect(new Set(server.calls.map(({ namespace }) => namespace))).toEqual(new Set(["teams/data"]));
    expect(server.said()).toContain("POST auth/approle/login");
  });

  test("a path in the address comes before the rest", async () => {
    const server = new VaultServer();
    server.instead = () => ({ status: 404, body: { errors: [] } });
    await server.start();
    const { store } = await aVault({ address: `${server.address}/proxy/` });
    await store.get("t-a");
    expect(server.said().at(-1)).toBe("GET /proxy/v1/secret/data/t-a");
  });
});
