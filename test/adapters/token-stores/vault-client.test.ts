import { describe, expect, test } from "vitest";
import { Secret } from "../../../src/core/secret/secret.ts";
import { rejection } from "../../contracts/collect.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { expectEachToFail } from "./a-secret-place.ts";
import type { JsonReply } from "./servers/json-server.ts";
import { approle, aVault, VaultServer } from "./servers/vault-server.ts";

const never = () => false;
const secret = (text: string) => new Secret(text);

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
