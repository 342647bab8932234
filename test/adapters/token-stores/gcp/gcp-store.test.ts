import { grpc } from "google-gax";
import { setBackend } from "google-logging-utils";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { GcpStore } from "../../../../src/adapters/token-stores/gcp/gcp-store.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { rejection } from "../../../contracts/collect.ts";
import { everythingIn } from "../../../contracts/everything-in.ts";
import { isOfBOrD, secretStoreContract } from "../../../contracts/token-store.ts";
import { realSecretStoreSuite } from "../secrets/a-real-store.ts";
import { aSecretPlace } from "../secrets/a-secret-place.ts";
import { exhausted, fault, GcpServer, PROJECT } from "./gcp-server.ts";

const { status } = grpc;
const OURS = { "managed-by": "groupsync", "groupsync-name": "default" };

async function aServer(): Promise<GcpServer> {
  const server = await GcpServer.start();
  onTestFinished(() => server.stop());
  return server;
}

async function aStore({ scope = "default" } = {}) {
  const server = await aServer();
  const store = new GcpStore({ project: PROJECT, endpoint: server.endpoint, scope });
  onTestFinished(() => store.close());
  const put = (name: string, content: string, isGood = (found: Secret) => found.reveal() === content) =>
    store.put(name, new Secret(content), isGood);
  const get = async (name: string) => {
    const found = await store.get(name);
    return found?.isManaged ? found.content.reveal() : found && "not managed";
  };
  return { server, store, put, get };
}

const place = async () => {
  const server = await aServer();
  const secrets = new GcpStore({ project: PROJECT, endpoint: server.endpoint, scope: "default" });
  return aSecretPlace({
    secrets,
    contents: async () => server.contents(),
    refuseSome: async () => {
      server.before = ({ request }) => {
        const text = request.payload?.data.toString("utf8") ?? "";
        return text.includes("refused") ? fault(status.INVALID_ARGUMENT, `no: ${text}`) : undefined;
      };
    },
    keepSome: async () => {
      server.before = ({ method, request }) => {
        const name = request.name?.split("/").at(-1) ?? "";
        const text = server.contents()[name] ?? "";
        return method === "DeleteSecret" && text.startsWith("kept")
          ? fault(status.FAILED_PRECONDITION, `no: ${text}`)
          : undefined;
      };
    },
    breakDown: async () => server.stop(),
    forbid: async (which) => {
      server.before = ({ request: { name, parent, secretId } }) =>
        which === "all" || isOfBOrD(JSON.stringify([name, parent, secretId]))
          ? fault(status.PERMISSION_DENIED, "denied")
          : undefined;
    },
  });
};

secretStoreContract("Secret Manager, against a server written from the reference", place, { many: 200 });

describe("a secret of Secret Manager", () => {
  test("is made in two calls, replicated automatically, with the labels of groupsync", async () => {
    const { server, put } = await aStore();
    await put("a", "token-a");
    expect(server.calls.map(({ method }) => method)).toEqual(["CreateSecret", "AddSecretVersion"]);
    expect(server.secrets.get("a")).toMatchObject({ labels: OURS, replication: { automatic: {} } });
  });

  test.each(["My.Config", "a_b", "x".repeat(64), "A".repeat(64)])(
    "is labelled in the alphabet of labels where the config is named %s",
    async (scope) => {
      const { server, store, put } = await aStore({ scope });
      await put("a", "token-a");
      expect(server.secrets.get("a")?.labels["groupsync-name"]).toMatch(/^[a-z0-9_-]{1,63}$/);
      expect(await store.holdsAny()).toBe(true);
      expect(await store.get("a")).toMatchObject({ isManaged: true });
    },
  );

  test("that a process left without a version when it died reads as none, and is filled", async () => {
    const { server, put, get } = await aStore();
    server.has("a", OURS);
    expect(await get("a")).toBeUndefined();
    await put("a", "token-a");
    expect(await get("a")).toBe("token-a");
  });

  test.each(["DISABLED", "DESTROYED"] as const)("whose newest version is %s reads as none", async (state) => {
    const { server, put, get } = await aStore();
    const { versions } = server.has("a", OURS, "token-1", "token-2");
    const [, newest] = versions;
    if (newest) newest.state = state;
    expect(await get("a")).toBeUndefined();
    await put("a", "token-2");
    expect(await get("a")).toBe("token-2");
    expect(server.states("a")).toEqual(["DESTROYED", "DESTROYED", "ENABLED"]);
  });

  test("is not written again where the content will do", async () => {
    const { server, put } = await aStore();
    await put("a", "token-a");
    await put("a", "token-a");
    expect(server.states("a")).toEqual(["ENABLED"]);
  });

  test("keeps the newest version only, also after a clean-up that failed in passing", async () => {
    const { server, put } = await aStore();
    for (const content of ["token-1", "token-2"]) await put("a", content);
    expect(server.states("a")).toEqual(["DESTROYED", "ENABLED"]);
    server.before = ({ method }) =>
      method === "DestroySecretVersion" ? fault(status.UNAVAILABLE, "later") : undefined;
    await put("a", "token-3");
    expect(server.states("a")).toEqual(["DESTROYED", "ENABLED", "ENABLED"]);
    server.before = () => undefined;
    await put("a", "token-4");
    expect(server.states("a")).toEqual(["DESTROYED", "DESTROYED", "DESTROYED", "ENABLED"]);
  });

  test("leaves a version alone that is to be destroyed later: the project may say so", async () => {
    const { server, put } = await aStore();
    const { versions } = server.has("a", OURS, "token-1", "token-2");
    versions[0] = { state: "DISABLED", data: Buffer.from("token-1"), scheduledDestroyTime: { seconds: 1 } };
    await put("a", "token-3");
    expect(server.states("a")).toEqual(["DISABLED", "DESTROYED", "ENABLED"]);
  });

  test("can't be written where its old versions may not be destroyed: that right is missing", async () => {
    const { server, put } = await aStore();
    await put("a", "token-1");
    server.before = ({ method }) =>
      method === "DestroySecretVersion" ? fault(status.PERMISSION_DENIED, "no") : undefined;
    expect(await rejection(put("a", "token-2"))).toMatchObject({ problem: "unavailable" });
  });

  test("has its older versions destroyed also where its token is there already, as after a crash", async () => {
    const { server, put } = await aStore();
    server.has("a", OURS, "token-1", "token-2");
    await put("a", "token-2");
    expect(server.states("a")).toEqual(["DESTROYED", "ENABLED"]);
  });

  test("is not printed by the client, whatever GOOGLE_SDK_NODE_LOGGING says", async () => {
    vi.stubEnv("GOOGLE_SDK_NODE_LOGGING", "all");
    setBackend(undefined);
    const print = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => {
      vi.unstubAllEnvs();
      print.mockRestore();
    });
    const { put } = await aStore();
    await put("a", "token-a");
    expect(print).not.toHaveBeenCalled();
  });

  test("is read by what was written, while latest still stands for the version before", async () => {
    const { server, put, get } = await aStore();
    for (const content of ["token-1", "token-2"]) await put("a", content);
    server.latest.set("a", 1);
    expect(await get("a")).toBe("token-2");
    await put("a", "token-2");
    expect(server.states("a")).toEqual(["DESTROYED", "ENABLED"]);
  });

  test("is read as others do, once latest has had many chances to follow", async () => {
    const { server, put, get } = await aStore();
    await put("a", "token-a");
    server.has("a", OURS, "token-a", "by hand").versions[1] = { state: "DISABLED", data: Buffer.from("") };
    expect(await get("a")).toBe("token-a");
    for (let look = 1; look <= 20; look++) await get("a");
    expect(await get("a")).toBeUndefined();
  });

  test("is read by what was written, while it can't be found yet", async () => {
    const { server, put, get } = await aStore();
    await put("a", "token-a");
    server.before = ({ method, request }) =>
      method === "GetSecret" || request.name?.endsWith("latest") ? fault(status.NOT_FOUND, "yet") : undefined;
    expect(await get("a")).toBe("token-a");
  });

  test("that can't be made and can't be found either is asked for again", async () => {
    const { server, put } = await aStore();
    server.before = ({ method }) =>
      method === "CreateSecret" ? fault(status.ALREADY_EXISTS, "still") : undefined;
    expect(await rejection(put("a", "token-a"))).toMatchObject({ problem: "passing" });
  });

  test("is one secret with one token where several write it at once", async () => {
    const { server, put, get } = await aStore();
    const tokens = Array.from({ length: 20 }, (_, index) => `token-${index}`);
    await Promise.all(tokens.map((token) => put("a", token)));
    expect(tokens).toContain(await get("a"));
    expect(server.states("a").at(-1)).toBe("ENABLED");
  });

  test.each([
    ["nobody's", {}],
    ["another tool's", { "managed-by": "terraform" }],
    ["another config's", { ...OURS, "groupsync-name": "other" }],
  ])("that is %s is not read, not overwritten and not removed", async (_, labels) => {
    const { server, store, put } = await aStore();
    server.has("a", labels, "theirs");
    for (const call of [() => put("a", "token-a"), () => store.remove("a")]) {
      const error = await rejection(call());
      expect(error).toMatchObject({
        problem: "refused",
        message: expect.stringContaining("a is there already"),
      });
    }
    expect(await store.get("a")).toMatchObject({ isManaged: false });
    expect(await store.holdsAny()).toBe(false);
    expect(server.contents()).toEqual({ a: "theirs" });
    expect(server.called("AccessSecretVersion")).toBe(0);
  });

  test("that somebody else has made his own meanwhile is not removed", async () => {
    const { server, store, put } = await aStore();
    await put("a", "token-a");
    server.before = ({ method }) => {
      if (method === "DeleteSecret") server.has("a", {}, "theirs").etag = '"2"';
      return undefined;
    };
    expect(await rejection(store.remove("a"))).toMatchObject({ problem: "refused" });
    expect(server.contents()).toEqual({ a: "theirs" });
  });

  test("is one of many: others are no secrets of groupsync's", async () => {
    const { server, store, put } = await aStore();
    for (const name of ["x", "y", "z"]) server.has(name, {}, "theirs");
    for (const isFiltering of [true, false]) {
      server.isFiltering = isFiltering;
      expect(await store.holdsAny()).toBe(false);
    }
    await put("a", "token-a");
    expect(await store.holdsAny()).toBe(true);
  });
});

describe("what Secret Manager answers", () => {
  const SECRET = "hush-hush";

  test.each([
    ["RESOURCE_EXHAUSTED", "throttled", /quota/],
    ["UNAVAILABLE", "passing", /reached/],
    ["ABORTED", "passing", /reached/],
    ["DEADLINE_EXCEEDED", "passing", /reached/],
    ["INTERNAL", "passing", /reached/],
    ["PERMISSION_DENIED", "unavailable", /roles\/secretmanager\.admin/],
    ["UNAUTHENTICATED", "unavailable", /default credentials/],
    ["UNIMPLEMENTED", "unavailable", /endpoint/],
    ["INVALID_ARGUMENT", "refused", /64 KiB/],
    ["FAILED_PRECONDITION", "refused", /policy/],
  ] as const)("%s means %s, and what it quotes is not passed on", async (code, problem, hint) => {
    const { server, put } = await aStore();
    const metadata = new grpc.Metadata();
    metadata.set("x-echo", SECRET);
    server.before = () => fault(status[code], `${SECRET} ${code}`, metadata);
    const error = await rejection(put("a", SECRET));
    expect(error).toMatchObject({ problem, hint: expect.stringMatching(hint), retryAfterMs: undefined });
    expect(everythingIn(error)).not.toContain(SECRET);
    // Its patience is not the client's.
    expect(server.calls).toHaveLength(code === "UNAUTHENTICATED" ? 2 : 1);
  });

  test("can say how long it wants to be left alone", async () => {
    const { server, put } = await aStore();
    server.before = () => exhausted(`quota of ${SECRET}`, 7);
    const error = await rejection(put("a", SECRET));
    expect(error).toMatchObject({ problem: "throttled", retryAfterMs: 7_000 });
    expect(everythingIn(error)).not.toContain(SECRET);
  });

  test("a login that has expired is made again, once", async () => {
    const { server, put, get } = await aStore();
    let refusals = 1;
    server.before = () => (refusals-- > 0 ? fault(status.UNAUTHENTICATED, "expired") : undefined);
    await put("a", "token-a");
    expect(await get("a")).toBe("token-a");
  });

  test("a project that isn't there is no reason to wait", async () => {
    const { server } = await aStore();
    const store = new GcpStore({ project: "no-project", endpoint: server.endpoint, scope: "default" });
    onTestFinished(() => store.close());
    const error = await rejection(store.prepare());
    expect(error).toMatchObject({ problem: "unavailable", hint: expect.stringContaining("tokens.project") });
  });

  test("a token that is too long costs that tenant alone", async () => {
    const { put } = await aStore();
    const error = await rejection(put("a", SECRET.repeat(10_000)));
    expect(error).toMatchObject({ problem: "refused" });
    expect(everythingIn(error)).not.toContain(SECRET);
  });

  test("another server's page is no answer", async () => {
    const { createServer } = await import("node:http");
    const pages = createServer((_, response) => response.writeHead(502).end("<html>hush-hush</html>"));
    await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void pages.close());
    const address = pages.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const store = new GcpStore({ project: PROJECT, endpoint: `http://127.0.0.1:${port}`, scope: "default" });
    onTestFinished(() => store.close());
    const error = await rejection(store.prepare());
    expect(error).toMatchObject({ problem: "passing" });
    expect(everythingIn(error)).not.toContain(SECRET);
  });
});

realSecretStoreSuite(
  "Secret Manager",
  "GROUPSYNC_TEST_GCP_PROJECT",
  (project, scope) => new GcpStore({ project, scope }),
);
