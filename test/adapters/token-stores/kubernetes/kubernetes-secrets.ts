import type { V1Secret } from "@kubernetes/client-node";

export interface KubernetesReply {
  readonly status: number;
  /** JSON; a string is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
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
export const failure = (code: number, reason: string, message: string): KubernetesReply => ({
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

  answer(method: string, name: string | undefined, query: URLSearchParams, body: unknown): KubernetesReply {
    if (name === undefined) {
      if (method === "GET") return this.#list(query);
      if (method === "POST") return this.create(body as WireSecret);
    }
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

  create(secret: WireSecret): KubernetesReply {
    const problem = invalid(secret);
    if (problem) return problem;
    const { name } = secret.metadata;
    if (this.secrets.has(name)) return failure(409, "AlreadyExists", `secrets "${name}" already exists`);
    return { status: 201, body: this.#store(secret, `uid-${++this.#version}`) };
  }

  delete(found: WireSecret, options?: { preconditions?: { uid?: string } }): KubernetesReply {
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

  #replace(found: WireSecret, secret: WireSecret): KubernetesReply {
    const { name, uid = "", resourceVersion } = found.metadata;
    const wanted = secret.metadata.resourceVersion;
    if (wanted !== undefined && wanted !== resourceVersion)
      return failure(409, "Conflict", `Operation cannot be fulfilled on secrets "${name}": modified`);
    if (found.immutable && JSON.stringify(found.data) !== JSON.stringify(secret.data))
      return failure(422, "Invalid", `Secret "${name}" is invalid: data: field is immutable when set`);
    if (found.type !== secret.type) return failure(422, "Invalid", "type: field is immutable");
    return invalid(secret) ?? { status: 200, body: this.#store(secret, uid) };
  }

  #list(query: URLSearchParams): KubernetesReply {
    const wanted = (query.get("labelSelector") ?? "")
      .split(",")
      .filter(Boolean)
      .map((term) => term.split("="));
    const items = [...this.secrets.values()].filter(({ metadata: { labels = {} } }) =>
      wanted.every(([label = "", value]) => labels[label] === value),
    );
    const limit = Number(query.get("limit") ?? items.length);
    return {
      status: 200,
      body: { kind: "SecretList", apiVersion: "v1", metadata: {}, items: items.slice(0, limit) },
    };
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
function invalid({ metadata: { name, labels = {} }, data = {} }: WireSecret): KubernetesReply | undefined {
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
