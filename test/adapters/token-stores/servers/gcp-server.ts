import { createRequire } from "node:module";
import { GrpcClient, grpc } from "google-gax";

type State = "ENABLED" | "DISABLED" | "DESTROYED";

export interface ServedVersion {
  state: State;
  data: Buffer;
  scheduledDestroyTime?: { seconds: number };
}

export interface ServedSecret {
  labels: Record<string, string>;
  etag: string;
  replication: unknown;
  /** The first has the number 1. */
  versions: ServedVersion[];
}

interface Request {
  readonly name?: string;
  readonly parent?: string;
  readonly secretId?: string;
  readonly secret?: Pick<ServedSecret, "labels" | "replication">;
  readonly payload?: { readonly data: Buffer };
  readonly etag?: string;
}

export interface Answer {
  readonly code: number;
  readonly details: string;
  readonly metadata?: grpc.Metadata;
}

export type Method =
  | "CreateSecret"
  | "AddSecretVersion"
  | "GetSecret"
  | "DeleteSecret"
  | "ListSecretVersions"
  | "AccessSecretVersion"
  | "DestroySecretVersion";

export interface Call {
  readonly method: Method;
  readonly request: Request;
  /** The bearer token. */
  readonly token: string | undefined;
}

const { status } = grpc;
const protos = createRequire(import.meta.url)("@google-cloud/secret-manager/build/protos/protos.json");

export const PROJECT = "a-project";

/**
 * Secret Manager as far as groupsync speaks to it, after the comments in google/cloud/secretmanager/v1/service.proto and
 * resources.proto and the vendor's pages on etags and on the life of a version.
 */
export class GcpServer {
  readonly secrets = new Map<string, ServedSecret>();
  readonly calls: Call[] = [];
  /** Looks at each call before it is answered, and may fail it. */
  instead: (call: Call) => Answer | undefined = () => undefined;
  readonly #server = new grpc.Server();
  #port = 0;

  /** Where it serves, without credentials. */
  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  static async start(credentials = grpc.ServerCredentials.createInsecure()): Promise<GcpServer> {
    const server = new GcpServer();
    server.#server.addService(serviceDefinition(), server.#handlers());
    server.#port = await new Promise<number>((resolve, reject) => {
      server.#server.bindAsync("127.0.0.1:0", credentials, (error, port) =>
        error ? reject(error) : resolve(port),
      );
    });
    return server;
  }

  stop(): void {
    this.#server.forceShutdown();
  }

  /** A secret that somebody has made elsewhere. */
  has(name: string, labels: Record<string, string>, ...contents: string[]): ServedSecret {
    const versions = contents.map((text): ServedVersion => ({ state: "ENABLED", data: Buffer.from(text) }));
    const secret = { labels, etag: '"1"', replication: { automatic: {} }, versions };
    this.secrets.set(name, secret);
    return secret;
  }

  /** What can be read, by the secret's name. */
  contents(): Record<string, string> {
    const readable = [...this.secrets].flatMap(([name, { versions }]) => {
      const latest = versions.at(-1);
      return latest?.state === "ENABLED" ? [[name, latest.data.toString("utf8")] as const] : [];
    });
    return Object.fromEntries(readable);
  }

  states(name: string): State[] {
    return this.secrets.get(name)?.versions.map(({ state }) => state) ?? [];
  }

  called(method: Method): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  #handlers(): grpc.UntypedServiceImplementation {
    const answers: Record<Method, (request: Request) => unknown> = {
      CreateSecret: ({ parent, secretId = "", secret }) => {
        if (parent !== `projects/${PROJECT}`) throw fault(status.NOT_FOUND, `no project ${parent}`);
        if (!/^[\w-]{1,255}$/.test(secretId)) throw fault(status.INVALID_ARGUMENT, `the id ${secretId}`);
        if (!secret?.replication) throw fault(status.INVALID_ARGUMENT, "no replication");
        for (const [label, value] of Object.entries(secret.labels))
          if (!/^[a-z][a-z0-9_-]{0,62}$/.test(label) || !/^[a-z0-9_-]{0,63}$/.test(value))
            throw fault(status.INVALID_ARGUMENT, `the label ${label}=${value}`);
        if (this.secrets.has(secretId)) throw fault(status.ALREADY_EXISTS, `${secretId} exists`);
        const { labels, replication } = secret;
        this.secrets.set(secretId, { labels, replication, etag: '"1"', versions: [] });
        return this.#shown(secretId);
      },
      AddSecretVersion: ({ parent, payload }) => {
        const { name, versions } = this.#secret(parent);
        const data = payload?.data ?? Buffer.alloc(0);
        if (data.length > 65_536) throw fault(status.INVALID_ARGUMENT, `too long: ${data.toString("utf8")}`);
        versions.push({ state: "ENABLED", data });
        return this.#version(name, versions.length);
      },
      GetSecret: ({ name }) => this.#shown(this.#secret(name).name),
      DeleteSecret: ({ name, etag }) => {
        const secret = this.#secret(name);
        if (etag && etag !== secret.etag) throw fault(status.FAILED_PRECONDITION, "the etag is another");
        this.secrets.delete(secret.name);
        return {};
      },
      ListSecretVersions: ({ parent }) => {
        const { name, versions } = this.#secret(parent);
        return { versions: versions.map((_, index) => this.#version(name, index + 1)).reverse() };
      },
      AccessSecretVersion: ({ name }) => {
        const { secret, version, number } = this.#versionOf(name);
        if (version.state !== "ENABLED") throw fault(status.FAILED_PRECONDITION, `it is ${version.state}`);
        return { name: this.#version(secret, number).name, payload: { data: version.data } };
      },
      DestroySecretVersion: ({ name }) => {
        const { secret, version, number } = this.#versionOf(name);
        version.state = "DESTROYED";
        version.data = Buffer.alloc(0);
        return this.#version(secret, number);
      },
    };
    return Object.fromEntries(
      Object.entries(answers).map(([method, answer]) => [method, this.#handler(method as Method, answer)]),
    );
  }

  #handler(method: Method, answer: (request: Request) => unknown): grpc.handleUnaryCall<Request, unknown> {
    return ({ request, metadata }, respond) => {
      const token = metadata
        .get("authorization")[0]
        ?.toString()
        .replace(/^Bearer /, "");
      const call = { method, request, token };
      this.calls.push(call);
      const failure = this.instead(call);
      if (failure) return respond(failure);
      try {
        respond(null, answer(request));
      } catch (error) {
        if (!isAnswer(error)) throw error;
        respond(error);
      }
    };
  }

  #secret(path = ""): ServedSecret & { readonly name: string } {
    const name = new RegExp(`^projects/${PROJECT}/secrets/([^/]+)$`).exec(path)?.[1];
    const secret = name === undefined ? undefined : this.secrets.get(name);
    if (name === undefined || !secret) throw fault(status.NOT_FOUND, `no secret ${path}`);
    return { ...secret, name };
  }

  #versionOf(path = ""): { secret: string; version: ServedVersion; number: number } {
    const [, secretPath, alias] = /^(.*)\/versions\/([^/]+)$/.exec(path) ?? [];
    const { name, versions } = this.#secret(secretPath);
    const number = alias === "latest" ? versions.length : Number(alias);
    const version = versions[number - 1];
    if (!version) throw fault(status.NOT_FOUND, `no version ${path}`);
    return { secret: name, version, number };
  }

  #shown(name: string): unknown {
    const { labels, replication, etag } = this.#secret(`projects/${PROJECT}/secrets/${name}`);
    return { name: `projects/${PROJECT}/secrets/${name}`, labels, replication, etag };
  }

  #version(name: string, number: number) {
    const version = this.secrets.get(name)?.versions[number - 1];
    const { state, scheduledDestroyTime } = version ?? {};
    return { name: `projects/${PROJECT}/secrets/${name}/versions/${number}`, state, scheduledDestroyTime };
  }
}

/** An answer that fails a call. */
export const fault = (code: number, details: string, metadata?: grpc.Metadata): Answer =>
  metadata ? { code, details, metadata } : { code, details };

const isAnswer = (error: unknown): error is Answer =>
  typeof error === "object" && error !== null && "code" in error && "details" in error;

function serviceDefinition(): grpc.ServiceDefinition {
  const root: grpc.GrpcObject = new GrpcClient().loadProtoJSON(protos);
  const path = ["google", "cloud", "secretmanager", "v1", "SecretManagerService"];
  const service = path.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], root);
  return (service as grpc.ServiceClientConstructor).service;
}
