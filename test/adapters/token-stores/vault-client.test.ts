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
  const leak = "s3cr3t";
  const everywhere = { errors: [leak], warnings: [leak], data: { error: leak }, request_id: leak };
  const html = "<html>s3cr3t</html>";
  const answer = (status: number, body: unknown = everywhere): JsonReply => ({ status, body });
  const errors = (status: number, ...texts: string[]) => answer(status, { errors: [...texts, "s3cr3t"] });
  const busy = { ...answer(429), headers: { "retry-after": "7" } };
  const redirect = { status: 307, headers: { location: "http://s3cr3t/" } };
  const passing = { problem: "passing" };
  const unavailable = { problem: "unavailable" };
  const notVaults = { ...unavailable, message: expect.stringContaining("isn't Vault's") };
  const tooLong = { ...unavailable, message: expect.stringContaining("EXCEEDED") };
  const failures: [string, JsonReply, object][] = [
    ["429", busy, { problem: "throttled", retryAfterMs: 7000 }],
    ["412", answer(412), passing],
    [
      "an engine that is being upgraded",
      errors(400, "Upgrading from non-versioned to versioned data."),
      passing,
    ],
    ["500", answer(500), passing],
    ["a standby's redirect", redirect, passing],
    ["502 in HTML", answer(502, html), passing],
    ["503, sealed", errors(503, "Vault is sealed"), unavailable],
    ["403", answer(403), unavailable],
    ["400 in HTML", answer(400, html), notVaults],
    ["403 in HTML", answer(403, html), notVaults],
    ["200 in HTML", answer(200, html), unavailable],
    ["200 and another JSON", answer(200, { s3cr3t: "s3cr3t" }), unavailable],
    ["404 in HTML", answer(404, html), notVaults],
    ["no engine", errors(404, "no handler for s3cr3t"), unavailable],
    ["an endless answer", answer(200, "x".repeat(2 * 1024 * 1024)), tooLong],
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
    expect(server.said().at(-1)).toBe("GET /proxy/v1/secret/metadata/t-a");
  });
});
