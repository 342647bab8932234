import { onTestFinished } from "vitest";
import { type VaultStoreOptions, vaultStore } from "../../../../src/adapters/token-stores/vault-store.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { VirtualClock, VirtualTime } from "../../../fakes/virtual-time.ts";
import { faultsOn, PATH } from "../a-secret-place.ts";
import { bodyOf, type JsonReply, type JsonRequest, serveJson } from "./json-server.ts";

export interface VaultCall {
  readonly method: string;
  /** Behind `/v1/`. */
  readonly path: string;
  readonly token: string | undefined;
  readonly namespace: string | undefined;
  readonly body: unknown;
}

const ROOT = "hvs.root";
export const SECRET_ID = "an-approle-secret-id";
export const JWT = "a-service-account-token";

const errors = (status: number, ...texts: string[]): JsonReply => ({ status, body: { errors: texts } });
const denied = errors(403, "permission denied");

/** A Vault server written from the reference of its HTTP API, with one engine at `secret`. */
export class VaultServer {
  readonly kv = new VaultKv();
  readonly calls: VaultCall[] = [];
  /** Tokens that are good. */
  readonly tokens = new Set([ROOT]);
  readonly rootToken = ROOT;
  /** Whether a token can be renewed. */
  isRenewable = true;
  namespace: string | undefined;
  engine: { type: string; options: Record<string, string> | null } = {
    type: "kv",
    options: { version: "2" },
  };
  /** Answers in place of Vault, where it answers at all; undefined leaves it to Vault. */
  instead: (call: VaultCall) => JsonReply | "silence" | undefined = () => undefined;
  address = "";
  close: () => Promise<void> = async () => {};
  #logins = 0;

  /** Serves for one test. */
  async start(): Promise<this> {
    const { address, close } = await serveJson((request) => this.#serve(request));
    return Object.assign(this, { address, close });
  }

  /** `GET secret/data/x`, in the order in which they came. */
  said(): string[] {
    return this.calls.map(({ method, path }) => `${method} ${path}`);
  }

  #serve(request: JsonRequest): JsonReply | "silence" {
    const { method, url, headers } = request;
    const call: VaultCall = {
      method,
      path: url.replace(/^\/v1\//, ""),
      token: headers["x-vault-token"]?.toString(),
      namespace: headers["x-vault-namespace"]?.toString(),
      body: bodyOf(request),
    };
    this.calls.push(call);
    return this.instead(call) ?? this.#answer(call);
  }

  #answer(call: VaultCall): JsonReply {
    if (call.namespace !== this.namespace) return errors(404, `no handler for route "${call.path}"`);
    const login = /^auth\/([\w-]+)\/login$/.exec(call.path)?.[1];
    if (login !== undefined) return this.#login(login, call.body as Record<string, unknown>);
    if (call.token === undefined || !this.tokens.has(call.token)) return denied;
    switch (call.path) {
      case "auth/token/renew-self":
        return this.isRenewable ? this.#auth(call.token) : errors(400, "lease is not renewable");
      case "auth/token/revoke-self":
        this.tokens.delete(call.token);
        return { status: 204 };
      case "sys/internal/ui/mounts/secret":
        return { status: 200, body: { data: { ...this.engine, path: "secret/" } } };
    }
    const [, endpoint, name] = /^secret\/(\w+)\/(.*)$/.exec(call.path) ?? [];
    if (endpoint === undefined || name === undefined)
      return errors(404, `no handler for route "${call.path}"`);
    return this.kv.answer(call.method, endpoint, name, call.body);
  }

  #login(mount: string, fields: Record<string, unknown>): JsonReply {
    const isGood =
      mount === "approle"
        ? fields.role_id === "a-role" && fields.secret_id === SECRET_ID
        : fields.role === "groupsync" && fields.jwt === JWT;
    if (!isGood) return mount === "approle" ? errors(400, "invalid role or secret ID") : denied;
    const token = `hvs.login-${++this.#logins}`;
    this.tokens.add(token);
    return this.#auth(token);
  }

  #auth(client_token: string): JsonReply {
    return { status: 200, body: { auth: { client_token, lease_duration: 3600 } } };
  }
}

interface Version {
  data: unknown;
  deletedAt: string;
  destroyed: boolean;
}

interface Key {
  custom_metadata: Record<string, string> | null;
  max_versions: number;
  current_version: number;
  versions: Map<number, Version>;
}

interface Written extends Partial<Pick<Key, "custom_metadata" | "max_versions">> {
  readonly data?: unknown;
  readonly options?: { readonly cas?: number };
}

const CREATED = "2026-03-01T00:00:00.000000000Z";
const DEFAULT_VERSIONS = 10;
const nothing: JsonReply = { status: 404, body: { errors: [] } };
const empty: JsonReply = { status: 204 };
const refused = (...errors: string[]): JsonReply => ({ status: 400, body: { errors } });
const data = (value: unknown): JsonReply => ({ status: 200, body: { data: value } });

/** One KV version 2 engine, by its API reference: data, metadata, deletions that can be undone. */
export class VaultKv {
  readonly keys = new Map<string, Key>();

  /** The fields of every current version. */
  contents(): Record<string, Record<string, unknown>> {
    const current = [...this.keys].flatMap(([name, key]) => {
      const version = key.versions.get(key.current_version);
      return version && !version.deletedAt && !version.destroyed ? [[name, version.data]] : [];
    });
    return Object.fromEntries(current);
  }

  answer(method: string, endpoint: string, name: string, body: unknown): JsonReply {
    const fields = (body ?? {}) as Written;
    switch (`${method} ${endpoint}`) {
      case "GET data":
        return this.#read(name);
      case "POST data":
        return this.write(name, fields.data, fields.options?.cas);
      case "DELETE data":
        return this.delete(name);
      case "GET metadata":
        return this.#metadata(name);
      case "POST metadata":
        return this.describe(name, fields);
      case "DELETE metadata":
        this.keys.delete(name);
        return empty;
      default:
        return { status: 405, body: { errors: ["unsupported operation"] } };
    }
  }

  write(name: string, fields: unknown, cas?: number): JsonReply {
    if (typeof fields !== "object" || fields === null) return refused("no data provided");
    const key = this.keys.get(name) ?? this.#key();
    if (cas !== undefined && cas !== key.current_version)
      return refused("check-and-set parameter did not match the current version");
    key.current_version++;
    key.versions.set(key.current_version, { data: fields, deletedAt: "", destroyed: false });
    key.versions.delete(key.current_version - (key.max_versions || DEFAULT_VERSIONS));
    this.keys.set(name, key);
    return data(this.#version(key));
  }

  describe(name: string, fields: Partial<Pick<Key, "custom_metadata" | "max_versions">>): JsonReply {
    const key = this.keys.get(name) ?? this.#key();
    key.custom_metadata = fields.custom_metadata ?? key.custom_metadata;
    key.max_versions = fields.max_versions ?? key.max_versions;
    this.keys.set(name, key);
    return empty;
  }

  /** Deletes the current version so that it can be undeleted. */
  delete(name: string): JsonReply {
    const version = this.#current(name);
    if (version) version.deletedAt = CREATED;
    return empty;
  }

  destroy(name: string): void {
    const version = this.#current(name);
    if (version) version.destroyed = true;
  }

  #current(name: string): Version | undefined {
    const key = this.keys.get(name);
    return key?.versions.get(key.current_version);
  }

  #key(): Key {
    return { custom_metadata: null, max_versions: 0, current_version: 0, versions: new Map() };
  }

  #version({ custom_metadata, current_version, versions }: Key) {
    const { deletedAt = "", destroyed = false } = versions.get(current_version) ?? {};
    return {
      created_time: CREATED,
      custom_metadata,
      deletion_time: deletedAt,
      destroyed,
      version: current_version,
    };
  }

  #read(name: string): JsonReply {
    const key = this.keys.get(name);
    const version = this.#current(name);
    if (!key || !version) return nothing;
    const gone = version.deletedAt !== "" || version.destroyed;
    const found = { data: gone ? null : version.data, metadata: this.#version(key) };
    return { status: gone ? 404 : 200, body: { data: found } };
  }

  #metadata(name: string): JsonReply {
    const key = this.keys.get(name);
    if (!key) return nothing;
    const versions = [...key.versions].map(([number, { deletedAt, destroyed }]) => [
      number,
      { created_time: CREATED, deletion_time: deletedAt, destroyed },
    ]);
    return data({ ...key, cas_required: false, oldest_version: 0, versions: Object.fromEntries(versions) });
  }
}

export const MARKS = { "managed-by": "groupsync", "groupsync-name": "default" };

/** A store on a server of its own. */
export async function aVault(options: Partial<VaultStoreOptions> = {}, server = new VaultServer()) {
  await server.start();
  const time = new VirtualTime();
  const clock = new VirtualClock(time);
  const store = vaultStore(
    {
      address: server.address,
      mount: "secret",
      auth: { method: "token", token: new Secret(server.rootToken) },
      path: PATH,
      format: "token",
      scope: "default",
      ...options,
    },
    clock,
  );
  onTestFinished(() => store.close());
  return { server, kv: server.kv, store, time, clock };
}

export const approle = {
  auth: { method: "approle", mount: "approle", role_id: "a-role", secret_id: new Secret(SECRET_ID) },
} as const;

/** The one field of each secret; a mark without a version is none. */
export const tokensIn = (
  contents: Readonly<Record<string, Record<string, unknown>>>,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(contents).flatMap(([name, { token }]) =>
      typeof token === "string" ? [[name, token]] : [],
    ),
  );

export const faultsOf = (server: VaultServer) =>
  faultsOn<VaultCall, JsonReply | "silence">(server, {
    textOf: ({ path, body }) => path + JSON.stringify(body ?? ""),
    isWrite: ({ method }) => method === "POST",
    isRemoval: ({ method }) => method === "DELETE",
    refusal: (token) => ({ status: 400, body: { errors: [`can't do that with ${token}`], data: token } }),
    denial: { status: 403, body: { errors: ["1 error occurred:\n\t* permission denied\n\n"] } },
  });
