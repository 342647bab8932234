import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { V1Secret } from "@kubernetes/client-node";
import { onTestFinished } from "vitest";
import {
  type KubernetesStoreOptions,
  kubernetesStore,
} from "../../../../src/adapters/token-stores/kubernetes-store.ts";
import { aCertificateAuthority } from "../../../support/servers/certificates.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";
import { faultsOn } from "../a-secret-place.ts";
import { bodyOf, type JsonReply, type JsonRequest, serveJson } from "./json-server.ts";

export interface KubernetesCall {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

const authority = aCertificateAuthority("the cluster's CA");
const certificate = authority.then((ca) => ca.issue(["127.0.0.1"]));

/** A Kubernetes API server written from the reference of its Secrets, with the namespace `dashboards`. */
export class KubernetesServer {
  readonly kube = new KubernetesSecrets();
  readonly calls: KubernetesCall[] = [];
  connections = 0;
  token = "a-service-account-token";
  /** Answers in its place, where it answers at all; undefined leaves it to the server. */
  instead: (call: KubernetesCall) => JsonReply | "silence" | undefined = () => undefined;
  address = "";
  close: () => Promise<void> = async () => {};

  /** Serves for one test. */
  async start(): Promise<this> {
    const { server, address, close } = await serveJson((request) => this.#serve(request), await certificate);
    server.on("secureConnection", () => this.connections++);
    return Object.assign(this, { address, close });
  }

  /** As `kubectl config view --raw` prints it. */
  async kubeconfig({ namespace = "dashboards", token = this.token } = {}): Promise<string> {
    const ca = Buffer.from((await authority).cert).toString("base64");
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "here",
      clusters: [{ name: "one", cluster: { server: this.address, "certificate-authority-data": ca } }],
      users: [{ name: "me", user: { token } }],
      contexts: [
        { name: "here", context: { cluster: "one", user: "me", namespace } },
        { name: "elsewhere", context: { cluster: "one", user: "me", namespace: "elsewhere" } },
      ],
    });
  }

  said(): string[] {
    return this.calls.map(({ method, path }) => `${method} ${path.replace(/^.*\/secrets/, "")}`);
  }

  #serve(request: JsonRequest): JsonReply | "silence" {
    const { method, url, headers } = request;
    const { pathname: path } = new URL(url, this.address);
    const call = { method, path, authorization: headers.authorization, body: bodyOf(request) };
    this.calls.push(call);
    return this.instead(call) ?? this.#answer(call);
  }

  #answer({ method, path, authorization, body }: KubernetesCall): JsonReply {
    if (authorization !== `Bearer ${this.token}`) return failure(401, "Unauthorized", "Unauthorized");
    const [, namespace, , name] = /^\/api\/v1\/namespaces\/([^/]+)\/secrets(\/([^/]+))?$/.exec(path) ?? [];
    if (namespace === undefined) return { status: 404, body: "404 page not found" };
    if (namespace === "dashboards") return this.kube.answer(method, name, body);
    return method === "GET"
      ? failure(404, "NotFound", `secrets "${name}" not found`)
      : failure(404, "NotFound", `namespaces "${namespace}" not found`);
  }
}

/** A Secret on the wire, where dates are text. */
export type WireSecret = Omit<V1Secret, "metadata"> & { metadata: Metadata };

interface Metadata {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  finalizers?: string[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

const KIND = { apiVersion: "v1", kind: "Secret" };
const LARGEST = 1024 * 1024;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL = /^([A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?)?$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The API's `Status`, which is what every failure says. */
export const failure = (code: number, reason: string, message: string): JsonReply => ({
  status: code,
  body: {
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code,
    reason,
    message,
    details: { kind: "secrets" },
  },
});

/** The Secrets of one namespace, by the API's reference: versions, finalizers, what is valid. */
export class KubernetesSecrets {
  readonly secrets = new Map<string, WireSecret>();
  #version = 100;

  answer(method: string, name: string | undefined, body: unknown): JsonReply {
    if (name === undefined && method === "POST") return this.create(body as WireSecret);
    const found = name === undefined ? undefined : this.secrets.get(name);
    if (!found) return failure(404, "NotFound", `secrets "${name}" not found`);
    if (method === "GET") return { status: 200, body: { ...KIND, ...found } };
    if (method === "PUT") return this.#replace(found, body as WireSecret);
    if (method === "DELETE") return this.delete(found, body as { preconditions?: { uid?: string } });
    return failure(
      405,
      "MethodNotAllowed",
      "the server does not allow this method on the requested resource",
    );
  }

  create(secret: WireSecret): JsonReply {
    const problem = invalid(secret);
    if (problem) return problem;
    const { name } = secret.metadata;
    if (this.secrets.has(name)) return failure(409, "AlreadyExists", `secrets "${name}" already exists`);
    return { status: 201, body: this.#store(secret, `uid-${++this.#version}`) };
  }

  delete(found: WireSecret, options?: { preconditions?: { uid?: string } }): JsonReply {
    const { name, uid, finalizers = [] } = found.metadata;
    const wanted = options?.preconditions?.uid;
    if (wanted !== undefined && wanted !== uid)
      return failure(409, "Conflict", `the UID in the precondition (${wanted}) does not match`);
    if (finalizers.length > 0) {
      found.metadata.deletionTimestamp = "2026-03-01T00:00:00Z";
      return { status: 200, body: { ...KIND, ...found } };
    }
    this.secrets.delete(name);
    return {
      status: 200,
      body: { kind: "Status", apiVersion: "v1", status: "Success", details: { name, uid } },
    };
  }

  #replace(found: WireSecret, secret: WireSecret): JsonReply {
    const { name, uid = "", resourceVersion } = found.metadata;
    const wanted = secret.metadata.resourceVersion;
    if (wanted !== undefined && wanted !== resourceVersion)
      return failure(409, "Conflict", `Operation cannot be fulfilled on secrets "${name}": modified`);
    if (found.immutable && JSON.stringify(found.data) !== JSON.stringify(secret.data))
      return failure(422, "Invalid", `Secret "${name}" is invalid: data: field is immutable when set`);
    if (found.type !== secret.type) return failure(422, "Invalid", "type: field is immutable");
    return invalid(secret) ?? { status: 200, body: this.#store(secret, uid) };
  }

  #store(secret: WireSecret, uid: string): WireSecret {
    const stored = structuredClone(secret);
    const resourceVersion = String(++this.#version);
    stored.metadata = {
      ...stored.metadata,
      uid,
      resourceVersion,
      creationTimestamp: "2026-03-01T00:00:00Z",
    };
    this.secrets.set(secret.metadata.name, stored);
    return stored;
  }
}

/** What the API refuses. It quotes what it is given. */
function invalid({ metadata: { name, labels = {} }, data = {} }: WireSecret): JsonReply | undefined {
  const problems = [
    ...(SUBDOMAIN.test(name) && name.length <= 253 ? [] : [`metadata.name: "${name}"`]),
    ...Object.values(labels).flatMap((label) => (LABEL.test(label) ? [] : [`metadata.labels: "${label}"`])),
    ...Object.keys(data).flatMap((key) => (/^[-._a-zA-Z0-9]{1,253}$/.test(key) ? [] : [`data[${key}]`])),
    ...Object.values(data).flatMap((value) => (BASE64.test(value) ? [] : [`data: "${value}"`])),
    ...(Object.values(data).join("").length > (LARGEST * 4) / 3 ? ["data: Too long"] : []),
  ];
  return problems.length === 0
    ? undefined
    : failure(422, "Invalid", `Secret is invalid: ${problems.join(", ")}`);
}

export const LABELS = { "app.kubernetes.io/managed-by": "groupsync", "groupsync-name": "default" };

/** A file of its own for one test. */
export async function aKubeconfig(text: string): Promise<string> {
  const folder = temporaryFolder();
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
  const store = kubernetesStore({ kubeconfig, key: "token", scope: "default", ...options });
  onTestFinished(() => store.close());
  return { server, kube: server.kube, store, kubeconfig };
}

/** What is under a key of each Secret. */
export const contentsOf = (secrets: Iterable<WireSecret>, key = "token"): Record<string, string> =>
  Object.fromEntries([...secrets].map((secret) => [secret.metadata.name, contentOf(secret, key)]));

const contentOf = (secret: WireSecret | undefined, key: string): string =>
  Buffer.from(secret?.data?.[key] ?? "", "base64").toString("utf8");

export const faultsOf = (server: KubernetesServer) =>
  faultsOn<KubernetesCall, JsonReply | "silence">(server, {
    textOf: ({ path, body }) => path + JSON.stringify(body ?? "") + contentOf(body as WireSecret, "token"),
    isWrite: ({ method }) => method === "POST" || method === "PUT",
    isRemoval: ({ method }) => method === "DELETE",
    refusal: (token) => {
      const message = `admission webhook "policy" denied the request: ${token}`;
      return { status: 400, body: { kind: "Status", message, reason: token, details: { name: token } } };
    },
    denial: failure(403, "Forbidden", "secrets is forbidden"),
  });
