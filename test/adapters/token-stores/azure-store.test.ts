import { describe, expect, onTestFinished, test, vi } from "vitest";
import { azureStore } from "../../../src/adapters/token-stores/azure-store.ts";
import { rejection } from "../../contracts/collect.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { secretStoreContract } from "../../contracts/token-store.ts";
import { realSecretStoreSuite } from "./a-real-store.ts";
import { aSecretPlace, faultsOn } from "./a-secret-place.ts";
import { aStore, aWorld, fault, OURS, SECRET } from "./servers/azure-server.ts";
import type { JsonReply } from "./servers/json-server.ts";

const place = async () => {
  const { server, secrets } = await aWorld();
  return aSecretPlace({
    secrets,
    contents: async () => server.contents(),
    ...faultsOn(server, {
      textOf: ({ path, body }) => path + body,
      isWrite: ({ method }) => method === "PUT",
      isRemoval: ({ method }) => method === "DELETE",
      refusal: (token) => fault(400, "BadParameter", `no: ${token}`),
      denial: fault(403, "Forbidden", "denied"),
    }),
    breakDown: async () => server.close(),
    makeAnothers: async (name, tags) => void server.has(name, tags, "theirs"),
  });
};

secretStoreContract("Key Vault, against a server written from the reference", place, { many: 200 });

describe("a secret of Key Vault", () => {
  test("is looked for, and made with the tags of groupsync", async () => {
    const { server, put, called } = await aStore();
    await put("a", "token-a");
    expect(called()).toEqual(["GET secrets", "PUT secrets"]);
    expect(server.secrets.get("a")).toMatchObject([{ tags: OURS }]);
  });

  test("whose newest version is disabled reads as none, and gets another", async () => {
    const { server, put, get } = await aStore();
    await put("a", "token-a");
    server.has("a", OURS, "token-a").enabled = false;
    expect(await get("a")).toBeUndefined();
    await put("a", "token-a");
    expect(await get("a")).toBe("token-a");
  });

  test("that somebody set by hand, and so without the tags, is still groupsync's", async () => {
    const { server, secrets, put, get } = await aStore();
    await put("a", "token-a");
    server.has("a", undefined, "by hand");
    expect(await get("a")).toBe("by hand");
    await put("a", "token-a");
    expect(await get("a")).toBe("token-a");
    server.has("a", undefined, "by hand");
    await secrets.remove("a");
    expect([server.secrets.size, server.deleted.size]).toEqual([0, 0]);
  });

  test("that is somebody else's is left alone where it is disabled too, and where it is deleted", async () => {
    const { server, secrets, put } = await aStore();
    server.has("a", undefined, "theirs").enabled = false;
    for (const call of [() => put("a", "token-a"), () => secrets.remove("a")])
      expect(await rejection(call())).toMatchObject({ problem: "refused" });
    server.hasDeleted("b", undefined, "theirs");
    expect(await rejection(put("b", "token-a"))).toMatchObject({ problem: "refused" });
    await secrets.remove("b");
    expect([...server.deleted.keys()]).toEqual(["b"]);
  });

  test("is purged once it is deleted, however long that takes", async () => {
    const { server, secrets, put } = await aStore();
    await put("a", "token-a");
    server.delay = 2;
    await secrets.remove("a");
    expect([server.secrets.size, server.deleted.size]).toEqual([0, 0]);
  });

  test("that was left deleted by a process that died is purged by the next remove", async () => {
    const { server, secrets } = await aStore();
    server.hasDeleted("a", OURS, "token-a");
    await secrets.remove("a");
    expect(server.deleted.size).toBe(0);
  });

  test("is deleted for now where the vault is protected from purging, and recovered when it is wanted again", async () => {
    const { server, secrets, put, get } = await aStore();
    server.isPurgeProtected = true;
    await put("a", "token-1");
    await secrets.remove("a");
    await secrets.remove("a");
    expect(await get("a")).toBeUndefined();
    server.delay = 3;
    await put("a", "token-2");
    expect(await get("a")).toBe("token-2");
  });

  test("whose deletion or purging is still under way is asked for again", async () => {
    const { server, put, called } = await aStore();
    server.instead = ({ method }) =>
      method === "PUT"
        ? fault(409, "Conflict", "is currently being deleted", "ObjectIsBeingDeleted")
        : undefined;
    expect(await rejection(put("a", "token-a"))).toMatchObject({ problem: "passing" });
    expect(called()).toEqual(["GET secrets", "PUT secrets", "GET deletedsecrets"]);
    server.hasDeleted("b", OURS, "token-b");
    expect(await rejection(put("b", "token-2"))).toMatchObject({ problem: "passing" });
  });

  test("can't be removed without the right to purge it: the name would not be free", async () => {
    const { server, secrets, put } = await aStore();
    await put("a", "token-a");
    server.instead = ({ method, path }) =>
      method === "DELETE" && path.startsWith("/deleted") ? fault(403, "Forbidden", "no") : undefined;
    const error = await rejection(secrets.remove("a"));
    expect(error).toMatchObject({ problem: "unavailable", hint: expect.stringContaining("purge") });
  });
});

describe("what Key Vault answers", () => {
  const quoting = (status: number): JsonReply => ({
    ...fault(status, SECRET, `no: ${SECRET}`, SECRET),
    headers: { "x-ms-request-id": SECRET },
  });

  test.each([
    [400, "refused", /25 KB/],
    [401, "unavailable", /default credentials/],
    [403, "unavailable", /Key Vault Secrets Officer.*purge/],
    [409, "passing", /few seconds/],
    [413, "refused", /well/],
    [429, "throttled", /limit/],
    [500, "passing", /well/],
    [503, "passing", /well/],
  ] as const)(
    "%d means %s, with or without a page, and what it quotes is not passed on",
    async (status, problem, hint) => {
      const { server, put } = await aStore();
      const pages: JsonReply[] = [quoting(status), { status }, { status, body: `<html>${SECRET}</html>` }];
      for (const answer of pages) {
        server.instead = () => answer;
        const error = await rejection(put("a", SECRET));
        expect(error).toMatchObject({ problem, hint: expect.stringMatching(hint) });
        expect(everythingIn(error)).not.toContain(SECRET);
      }
    },
  );

  test("can say how long it wants to be left alone, and is not asked again by the client", async () => {
    const { server, put } = await aStore();
    server.instead = () => ({ ...quoting(429), headers: { "retry-after": "7" } });
    expect(await rejection(put("a", SECRET))).toMatchObject({ problem: "throttled", retryAfterMs: 7_000 });
    expect(server.calls).toHaveLength(1);
  });

  test.each([
    ["a page", `<html>${SECRET}</html>`],
    ["JSON of another kind", `{"${SECRET}":1}`],
    ["nothing", ""],
  ])("where a secret should be: %s is no answer", async (_, body) => {
    const { server, secrets } = await aStore();
    server.instead = () => ({ status: 200, body });
    const error = await rejection(secrets.get("a"));
    expect(error).toMatchObject({ problem: "passing" });
    expect(everythingIn(error)).not.toContain(SECRET);
  });
});

realSecretStoreSuite("Key Vault", "GROUPSYNC_TEST_AZURE_VAULT_URL", (vaultUrl, scope) =>
  azureStore({ vaultUrl, scope }),
);

describe("a vault that is not there", () => {
  test("leaves no timer behind, which would keep the process", async () => {
    const { server, get } = await aStore();
    await get("a");
    server.close();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    expect(await rejection(get("a"))).toMatchObject({ problem: "passing" });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is given up, also where its answer stops halfway", async () => {
    const { server, get } = await aStore();
    await get("a");
    server.instead = () => ({ status: 200, body: "{", headers: { "content-length": "1000" } });
    const afterMs = AbortSignal.timeout.bind(AbortSignal);
    const limit = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => afterMs(50));
    onTestFinished(() => limit.mockRestore());
    expect(await rejection(get("a"))).toMatchObject({ problem: "passing" });
  });
});
