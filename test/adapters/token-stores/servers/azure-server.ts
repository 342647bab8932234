import { randomUUID } from "node:crypto";
import { onTestFinished } from "vitest";
import { azureStore } from "../../../../src/adapters/token-stores/azure-store.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { aCertificateAuthority } from "../../../support/servers/certificates.ts";
import { type JsonReply, type JsonRequest, serveJson } from "./json-server.ts";

interface Version {
  readonly version: string;
  readonly value: string;
  readonly tags: Readonly<Record<string, string>> | undefined;
  /** In seconds. */
  readonly created: number;
  enabled: boolean;
}

interface Deleted {
  readonly versions: Version[];
  /** How many more looks at it find nothing yet. */
  hidden: number;
}

export interface Call {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly token: string | undefined;
  readonly body: string;
}

const CHALLENGE =
  'Bearer authorization="https://login.example.com/a-tenant", resource="https://vault.azure.net"';

/**
 * Key Vault as far as groupsync speaks to it, after the REST reference of its secrets (API version 2025-07-01) and the
 * vendor's pages on authentication, soft delete and error codes.
 */
export class AzureServer {
  /** Names are the same whatever their case. */
  readonly secrets = new Map<string, Version[]>();
  readonly deleted = new Map<string, Deleted>();
  /** What was let in, the challenges left out. */
  readonly calls: Call[] = [];
  readonly tokens = new Set<string>(["login-1"]);
  /** Looks at each call that is let in before it is answered, and may answer it instead. */
  instead: (call: Call) => JsonReply | undefined = () => undefined;
  isPurgeProtected = false;
  /** How often a secret that is just deleted, or recovered, can't be found yet. */
  delay = 0;
  readonly #recovering = new Map<string, number>();
  /** One passes with each version. */
  #seconds = 0;
  url = "";
  close: () => Promise<void> = async () => {};

  /** Serves for one test. */
  async start(): Promise<this> {
    const { address, close } = await serveJson((request) => this.#serve(request), certificate);
    return Object.assign(this, { url: address, close });
  }

  /** A version that somebody has set elsewhere. */
  has(name: string, tags: Readonly<Record<string, string>> | undefined, value: string): Version {
    const created = ++this.#seconds;
    const version = { version: randomUUID().replaceAll("-", ""), value, tags, created, enabled: true };
    this.secrets.set(name, [...(this.secrets.get(name) ?? []), version]);
    return version;
  }

  /** A secret that somebody has made and deleted elsewhere. */
  hasDeleted(name: string, tags: Readonly<Record<string, string>> | undefined, value: string): void {
    this.has(name, tags, value);
    this.deleted.set(name, { versions: this.secrets.get(name) ?? [], hidden: 0 });
    this.secrets.delete(name);
  }

  /** What can be read, by the secret's name. */
  contents(): Record<string, string> {
    const readable = [...this.secrets].flatMap(([name, versions]) => {
      const newest = versions.at(-1);
      return newest?.enabled ? [[name, newest.value] as const] : [];
    });
    return Object.fromEntries(readable);
  }

  #serve({ method, url, headers, text: body }: JsonRequest): JsonReply {
    const path = url.replace(/\?.*/, "").replace(/\/$/, "");
    const token = headers.authorization?.replace(/^Bearer /, "");
    const reply = this.#answer({ method, path, token, body });
    return { ...reply, headers: { "content-type": "application/json; charset=utf-8", ...reply.headers } };
  }

  #answer(call: Call): JsonReply {
    if (call.token === undefined || !this.tokens.has(call.token))
      return { ...fault(401, "Unauthorized", "no token"), headers: { "www-authenticate": CHALLENGE } };
    this.calls.push(call);
    const [, collection, rawName, third] = call.path.split("/");
    const name = rawName?.toLowerCase();
    if (rawName !== undefined && !/^[0-9a-zA-Z-]{1,127}$/.test(rawName))
      return fault(400, "BadParameter", `the name ${rawName}`);
    const early = this.instead(call);
    if (early) return early;
    if (collection === "deletedsecrets" && name) return this.#ofDeleted(call, name, third);
    if (collection !== "secrets" || name === undefined) return fault(404, "NotFound", call.path);
    return this.#ofSecret(call, name, third);
  }

  #ofSecret({ method, body }: Call, name: string, third: string | undefined): JsonReply {
    if (method === "PUT") return this.#set(name, JSON.parse(body));
    const versions = this.secrets.get(name);
    const recovering = this.#recovering.get(name) ?? 0;
    this.#recovering.set(name, recovering - 1);
    if (!versions || recovering > 0)
      return fault(404, "SecretNotFound", `A secret with (name/id) ${name} was not found`);
    if (method === "DELETE") {
      this.secrets.delete(name);
      this.deleted.set(name, { versions, hidden: this.delay });
      return this.#shown(name, versions.at(-1), true);
    }
    if (third === "versions")
      return json({ value: versions.map((version) => this.#item(name, version)), nextLink: null });
    const version = third ? versions.find((other) => other.version === third) : versions.at(-1);
    if (!version) return fault(404, "SecretNotFound", "no such version");
    if (!version.enabled) return fault(403, "Forbidden", "Operation get is not allowed", "SecretDisabled");
    return this.#shown(name, version);
  }

  #set(name: string, { value, tags }: { value: string; tags?: Record<string, string> }): JsonReply {
    if (this.deleted.has(name))
      return fault(409, "Conflict", `Secret ${name} is deleted: ${value}`, "ObjectIsDeletedButRecoverable");
    if ((this.#recovering.get(name) ?? 0) > 0)
      return fault(409, "Conflict", `Secret ${name} is being recovered`, "ObjectIsBeingRecovered");
    if (Buffer.byteLength(value) > 25_600) return fault(400, "BadParameter", `too long: ${value}`);
    return this.#shown(name, this.has(name, tags, value));
  }

  #ofDeleted({ method }: Call, name: string, third: string | undefined): JsonReply {
    const found = this.deleted.get(name);
    if (!found || found.hidden-- > 0)
      return fault(404, "SecretNotFound", `Deleted Secret not found: ${name}`);
    if (method === "GET") return this.#shown(name, found.versions.at(-1), true);
    if (method === "DELETE") {
      if (this.isPurgeProtected) return fault(403, "Forbidden", "Operation purge is not allowed");
      this.deleted.delete(name);
      return { status: 204 };
    }
    if (third !== "recover") return fault(405, "NotSupported", third ?? "");
    this.deleted.delete(name);
    this.secrets.set(name, found.versions);
    this.#recovering.set(name, this.delay);
    return this.#shown(name, found.versions.at(-1));
  }

  #item(name: string, version: Version | undefined) {
    const recoveryLevel = this.isPurgeProtected ? "Recoverable" : "Recoverable+Purgeable";
    const attributes = {
      enabled: version?.enabled,
      created: version?.created,
      updated: 1,
      recoveryLevel,
      recoverableDays: 90,
    };
    return { id: `${this.url}/secrets/${name}/${version?.version}`, attributes, tags: version?.tags };
  }

  #shown(name: string, version: Version | undefined, isDeleted = false): JsonReply {
    const item = this.#item(name, version);
    const deletion = {
      recoveryId: `${this.url}/deletedsecrets/${name}`,
      deletedDate: 1,
      scheduledPurgeDate: 2,
    };
    return json(isDeleted ? { ...item, ...deletion } : { ...item, value: version?.value });
  }
}

/** An answer that fails a call. */
export function fault(status: number, code: string, message: string, inner?: string): JsonReply {
  const error = { code, message, ...(inner && { innererror: { code: inner } }) };
  return { status, body: { error } };
}

const json = (body: unknown): JsonReply => ({ status: 200, body });

export const OURS = { "managed-by": "groupsync", "groupsync-name": "default" };
/** Must not be seen again. */
export const SECRET = "hush-hush";

const authority = await aCertificateAuthority("Key Vault");
const certificate = await authority.issue(["127.0.0.1"]);

/** A secret store, and the Key Vault that it speaks to. */
export async function aWorld() {
  const server = await new AzureServer().start();
  const world = {
    server,
    logins: 0,
    /** How long a login lasts. */
    lasts: 3_600_000,
    getToken: async () => {
      world.logins++;
      return { token: `login-${world.logins}`, expiresOnTimestamp: Date.now() + world.lasts };
    },
  };
  const access = {
    credential: { getToken: () => world.getToken() },
    // The vault has no name of Azure's here.
    client: { tlsOptions: { ca: authority.cert }, disableChallengeResourceVerification: true },
  };
  const secrets = azureStore({ vaultUrl: server.url, scope: "default" }, access);
  return Object.assign(world, { secrets, access });
}

/** The same, closed with the test, and spoken to in words. */
export async function aStore() {
  const world = await aWorld();
  const { server, secrets } = world;
  onTestFinished(() => secrets.close());
  const put = (name: string, content: string) =>
    secrets.put(name, new Secret(content), (found) => found.reveal() === content);
  const get = async (name: string) => {
    const found = await secrets.get(name);
    return found?.isManaged ? found.content.reveal() : found && "not managed";
  };
  const called = () => server.calls.splice(0).map(({ method, path }) => `${method} ${path.split("/")[1]}`);
  return { ...world, world, put, get, called };
}
