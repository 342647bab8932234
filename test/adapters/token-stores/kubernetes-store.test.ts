import { describe, expect, test } from "vitest";
import { kubernetesStore } from "../../../src/adapters/token-stores/kubernetes-store.ts";
import { SecretTokenStore } from "../../../src/adapters/token-stores/secret-token-store.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { rejection } from "../../contracts/collect.ts";
import { secretStoreContract } from "../../contracts/token-store.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";
import { realSecretStoreSuite } from "./a-real-store.ts";
import { aSecretPlace, PATH } from "./a-secret-place.ts";
import {
  aKubernetes,
  contentsOf,
  faultsOf,
  type KubernetesSecrets,
  LABELS,
} from "./servers/kubernetes-server.ts";

const never = () => false;
const secret = (text: string) => new Secret(text);
const base64 = (text: string) => Buffer.from(text).toString("base64");

secretStoreContract(
  "Kubernetes, against a server written from the reference",
  async () => {
    const { server, kube, store } = await aKubernetes();
    return aSecretPlace({
      secrets: store,
      contents: async () => contentsOf(kube.secrets.values()),
      ...faultsOf(server),
      breakDown: () => server.close(),
      makeAnothers: async (name, { "managed-by": manager = "", ...labels }) => {
        const data = { token: base64("theirs") };
        kube.create({
          type: "Opaque",
          metadata: { name, labels: { ...labels, "app.kubernetes.io/managed-by": manager } },
          data,
        });
      },
    });
  },
  { many: 200 },
);

describe("a Secret in Kubernetes, against a server written from the reference", () => {
  test("is Opaque, labelled, and names its group", async () => {
    const { kube, store } = await aKubernetes({ key: "dashboard-token" });
    const clock = new VirtualClock(new VirtualTime());
    const tokens = new SecretTokenStore(store, { path: PATH, format: "token" }, clock);
    await tokens.put({ user_group_id: "A/b\n", token: secret("one") });
    expect(kube.secrets.get("t--41-2fb-0a")).toMatchObject({
      type: "Opaque",
      metadata: { labels: LABELS, annotations: { "groupsync/user_group_id": "A/b\n" } },
      data: { "dashboard-token": base64("one") },
    });
  });

  test("costs one call where it is new, over connections that are kept", async () => {
    const { server, store } = await aKubernetes();
    for (const name of ["t-a", "t-b", "t-c"]) await store.put(name, secret("one"), never);
    expect(server.said()).toEqual(["POST ", "POST ", "POST "]);
    expect(server.connections).toBe(1);
  });

  test("is labelled with a hash where the config's name can't be a label", async () => {
    const scopes = ["a".repeat(64), "-production", "production_"];
    for (const scope of scopes) {
      const { kube, store } = await aKubernetes({ scope });
      await store.put("t-a", secret("one"), never);
      expect(kube.secrets.get("t-a")?.metadata.labels?.["groupsync-name"]).toMatch(/^sha256-[0-9a-f]{56}$/);
      expect(await store.get("t-a")).toMatchObject({ isManaged: true });
    }
  });

  test("keeps what others have added when its token is replaced", async () => {
    const { kube, store } = await aKubernetes();
    await store.put("t-a", secret("one"), never, "a");
    const found = kube.secrets.get("t-a")!;
    found.metadata.labels = { ...LABELS, team: "data" };
    found.metadata.annotations = { note: "ours" };
    found.metadata.finalizers = ["example.com/hold"];
    found.data = { ...found.data, other: base64("field") };
    await store.put("t-a", secret("two"), never, "a");
    expect(kube.secrets.get("t-a")).toMatchObject({
      metadata: {
        uid: found.metadata.uid,
        labels: { ...LABELS, team: "data" },
        annotations: { note: "ours", "groupsync/user_group_id": "a" },
        finalizers: ["example.com/hold"],
      },
      data: { token: base64("two"), other: base64("field") },
    });
  });

  test.each<[string, (kube: KubernetesSecrets) => void]>([
    ["changes", (kube) => (kube.secrets.get("t-a")!.metadata.resourceVersion = "999")],
    ["removes", (kube) => kube.secrets.delete("t-a")],
  ])("that somebody %s in between is asked for again, and then written", async (_, change) => {
    const { server, kube, store } = await aKubernetes();
    await store.put("t-a", secret("one"), never);
    let calls = 0;
    server.instead = ({ method }) => {
      if (method === "PUT" && ++calls === 1) change(kube);
      return undefined;
    };
    expect(await rejection(store.put("t-a", secret("two"), never))).toMatchObject({ problem: "passing" });
    await store.put("t-a", secret("two"), never);
    expect(contentsOf(kube.secrets.values())).toEqual({ "t-a": "two" });
  });

  test("that somebody else removes in between is removed", async () => {
    const { server, kube, store } = await aKubernetes();
    await store.put("t-a", secret("one"), never);
    server.instead = ({ method }) => {
      if (method === "DELETE") kube.secrets.delete("t-a");
      return undefined;
    };
    const before = server.calls.length;
    await store.remove("t-a");
    expect(server.said().slice(before)).toEqual(["GET /t-a", "DELETE /t-a"]);
  });

  test("that somebody makes anew in between is not removed", async () => {
    const { server, kube, store } = await aKubernetes();
    await store.put("t-a", secret("one"), never);
    server.instead = ({ method }) => {
      const metadata = { name: "t-a", uid: "another" };
      if (method === "DELETE") kube.secrets.set("t-a", { metadata, data: { token: base64("theirs") } });
      return undefined;
    };
    expect(await rejection(store.remove("t-a"))).toMatchObject({ problem: "passing" });
    expect(contentsOf(kube.secrets.values())).toEqual({ "t-a": "theirs" });
  });

  test("that is immutable is refused", async () => {
    const { kube, store } = await aKubernetes();
    await store.put("t-a", secret("one"), never);
    kube.secrets.get("t-a")!.immutable = true;
    const error = await rejection(store.put("t-a", secret("two"), never));
    expect(error).toMatchObject({ problem: "refused", hint: expect.stringContaining("immutable") });
  });

  test("that a finalizer holds isn't there any more, can't be written, and isn't removed yet", async () => {
    const { kube, store } = await aKubernetes();
    await store.put("t-a", secret("one"), never);
    kube.secrets.get("t-a")!.metadata.finalizers = ["example.com/hold"];
    const held = { problem: "refused", hint: expect.stringContaining("finalizer") };
    expect(await rejection(store.remove("t-a"))).toMatchObject({ problem: "passing" });
    expect(await rejection(store.remove("t-a"))).toMatchObject(held);
    expect(await store.get("t-a")).toBeUndefined();
    expect(await rejection(store.put("t-a", secret("two"), () => true))).toMatchObject(held);
    kube.secrets.delete("t-a");
    await store.remove("t-a");
    await store.put("t-a", secret("two"), never);
    expect(contentsOf(kube.secrets.values())).toEqual({ "t-a": "two" });
  });

  test("whose key somebody has taken away is not good", async () => {
    const { kube, store } = await aKubernetes();
    await store.put("t-a", secret("one"), never);
    kube.secrets.get("t-a")!.data = {};
    expect((await store.get("t-a"))?.content.reveal()).toBe("");
  });
});

realSecretStoreSuite("Kubernetes", "GROUPSYNC_TEST_KUBECONFIG", (kubeconfig, scope) => {
  const namespace = process.env.GROUPSYNC_TEST_KUBERNETES_NAMESPACE;
  return kubernetesStore({ kubeconfig, namespace, key: "token", scope });
});
