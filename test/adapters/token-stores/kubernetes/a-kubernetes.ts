import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  KubernetesStore,
  type KubernetesStoreOptions,
} from "../../../../src/adapters/token-stores/kubernetes/kubernetes-store.ts";
import { isOfBOrD } from "../../../contracts/token-store.ts";
import type { SecretWorld } from "../secrets/a-secret-place.ts";
import type { KubernetesReply, WireSecret } from "./kubernetes-secrets.ts";
import { type KubernetesCall, KubernetesServer } from "./kubernetes-server.ts";

export const LABELS = { "app.kubernetes.io/managed-by": "groupsync", "groupsync-name": "default" };

/** A file of its own for one test. */
export async function aKubeconfig(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "groupsync-kubernetes-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "config");
  await writeFile(file, text);
  return file;
}

/** A store on a server of its own, or on the one given. */
export async function aKubernetes(
  options: Partial<KubernetesStoreOptions> = {},
  server = new KubernetesServer(),
) {
  await server.start();
  const kubeconfig = await aKubeconfig(await server.kubeconfig());
  const store = new KubernetesStore({ kubeconfig, key: "token", scope: "default", ...options });
  onTestFinished(() => store.close());
  return { server, kube: server.kube, store, kubeconfig };
}

/** What is under a key of each Secret. */
export const contentsOf = (secrets: Iterable<WireSecret>, key = "token"): Record<string, string> =>
  Object.fromEntries([...secrets].map((secret) => [secret.metadata.name, contentOf(secret, key)]));

const contentOf = ({ data }: WireSecret, key: string): string =>
  Buffer.from(data?.[key] ?? "", "base64").toString("utf8");

/** What the contract of token stores wants to go wrong. */
export const faultsOf = (server: KubernetesServer): Omit<SecretWorld, "secrets" | "contents"> => ({
  refuseSome: async () => {
    server.instead = ({ method, body }) =>
      method === "POST" || method === "PUT"
        ? quoting("refused", contentOf(body as WireSecret, "token"))
        : undefined;
  },
  keepSome: async () => {
    const kept = ({ path }: KubernetesCall) => /-([bd])$/.exec(path)?.[1];
    server.instead = (call) => (call.method === "DELETE" ? quoting("kept", `kept-${kept(call)}`) : undefined);
  },
  breakDown: () => server.close(),
  forbid: async (which) => {
    server.instead = ({ path, body }) =>
      which === "all" || isOfBOrD(path + JSON.stringify(body ?? ""))
        ? { status: 403, body: { kind: "Status", reason: "Forbidden", message: "secrets is forbidden" } }
        : undefined;
  },
});

/** Refuses a token of b or d that begins so with words that quote it. */
function quoting(start: string, token: string): KubernetesReply | undefined {
  if (!new RegExp(`^${start}-[bd]$`).test(token)) return undefined;
  const message = `admission webhook "policy" denied the request: ${token}`;
  return { status: 400, body: { kind: "Status", message, reason: token, details: { name: token } } };
}
