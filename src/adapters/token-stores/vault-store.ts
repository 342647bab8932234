import { Secret } from "../../core/secret/secret.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/text/json.ts";
import { SECRET_NAMING, type SecretPath, type TokenFormat } from "../../core/tokens/secrets.ts";
import type { Clock } from "../../ports/clock.ts";
import {
  hasTags,
  type ManagedTags,
  managedTags,
  notManaged,
  type SecretStore,
  SecretStoreFailure,
  scopeIn,
} from "./secret-store.ts";
import { TaggedStore, type VendorSecret, type VendorSecrets } from "./tagged-store.ts";
import { failureOf, NO_ENGINE, notVaults, says, type VaultAnswer, VaultHttp } from "./vault-client.ts";
import { type VaultAuth, VaultSession } from "./vault-session.ts";

export interface VaultStoreOptions {
  /** The url of Vault. Its path comes before `/v1/`. */
  readonly address: string;
  /** The path of a KV version 2 engine, without slashes at its ends. */
  readonly mount: string;
  readonly namespace?: string | undefined;
  readonly auth: VaultAuth;
  readonly path: SecretPath;
  /** With `token`, the secret has one field, `token`. With `json`, the keys of the JSON are the secret's fields. */
  readonly format: TokenFormat;
  /** The config's name. */
  readonly scope: string;
}

interface FoundSecret extends VendorSecret {
  /** The number of its newest version; 0 if it has none yet. */
  readonly version: number;
}

/** How many versions the engine keeps of a secret: the token, and the one before. */
const MAX_VERSIONS = 2;

/**
 * Secrets in a KV version 2 engine of HashiCorp Vault (1.9 and later) or OpenBao. The tags are custom metadata, which
 * has an endpoint of its own. They are written before the first version: a crash leaves no secret of groupsync's
 * without tags.
 */
export const vaultStore = (options: VaultStoreOptions, clock: Clock): SecretStore =>
  new TaggedStore(new VaultSecrets(options, clock));

class VaultSecrets implements VendorSecrets<FoundSecret> {
  readonly title: string;
  readonly naming = SECRET_NAMING.vault;
  readonly #http: VaultHttp;
  readonly #session: VaultSession;
  readonly #mount: string;
  readonly #path: SecretPath;
  readonly #format: TokenFormat;
  readonly #marks: ManagedTags;

  constructor({ address, mount, namespace, auth, path, format, scope }: VaultStoreOptions, clock: Clock) {
    this.#mount = mount;
    this.title = `Vault at ${new URL(address).origin}, mount ${mount}`;
    this.#http = new VaultHttp(address, namespace);
    this.#session = new VaultSession(this.#http, auth, clock);
    this.#path = path;
    this.#format = format;
    this.#marks = managedTags(scope);
  }

  async inspect(): Promise<void> {
    const path = `sys/internal/ui/mounts/${this.#mount}`;
    const answer = await this.#call("GET", path);
    // A proxy may block this path.
    if (answer.status === 404) return;
    if (objectIn(this.#data(answer).options).version !== "2")
      throw new SecretStoreFailure("unavailable", "the engine there isn't KV version 2", NO_ENGINE);
  }

  async find(name: string): Promise<FoundSecret | undefined> {
    const answer = await this.#call("GET", this.#metadataPath(name));
    if (answer.status === 404) return undefined;
    const { custom_metadata, current_version } = this.#data(answer);
    const tags = objectIn(custom_metadata);
    return {
      isManaged: hasTags(tags, this.#marks),
      scope: scopeIn(tags),
      // Of two configs that claim a path at once, the loser takes the tags away again. The content still names the winner.
      isOpen: true,
      content: () => this.#read(name),
      version: Number(current_version),
    };
  }

  /** Writes the tags first. Then the check-and-set shows whether somebody else has created a secret meanwhile. */
  async create(name: string, content: Secret): Promise<"created" | FoundSecret> {
    const there = await this.find(name);
    if (there) return there;
    await this.#mark(name, { custom_metadata: this.#marks, max_versions: MAX_VERSIONS });
    if (await this.#write(name, content, 0)) return "created";
    if ((await this.#read(name))?.equals(content)) return "created";
    await this.#mark(name, { custom_metadata: {}, max_versions: 0 });
    throw notManaged(name);
  }

  replace(name: string, { version }: FoundSecret, content: Secret): Promise<boolean> {
    return this.#write(name, content, version);
  }

  async remove(name: string): Promise<boolean> {
    this.#expect(await this.#call("DELETE", this.#metadataPath(name)), 204);
    return true;
  }

  async close(): Promise<void> {
    await this.#session.close();
    await this.#http.close();
  }

  async #mark(name: string, metadata: JsonObject): Promise<void> {
    this.#expect(await this.#call("POST", this.#metadataPath(name), metadata), 204, 200);
  }

  /** Writes the version after `version`. False if that isn't the newest version any more. */
  async #write(name: string, content: Secret, version: number): Promise<boolean> {
    const answer = await this.#call("POST", this.#dataPath(name), {
      options: { cas: version },
      data: this.#fieldsOf(content),
    });
    if (answer.status === 400 && says(answer, /check-and-set parameter did not match/)) return false;
    this.#data(answer);
    return true;
  }

  /** The newest version; undefined if it is deleted or destroyed, or if there is none yet. */
  async #read(name: string): Promise<Secret | undefined> {
    const answer = await this.#call("GET", this.#dataPath(name));
    if (answer.status === 404) return undefined;
    const { data, metadata } = this.#data(answer);
    if (!isJsonObject(data) || !isJsonObject(metadata)) throw notVaults();
    return this.#contentOf(data);
  }

  #fieldsOf(content: Secret): JsonObject {
    return this.#format === "token"
      ? { token: content.reveal() }
      : objectIn(JSON.parse(content.reveal()) as Json);
  }

  #contentOf(fields: JsonObject): Secret {
    if (this.#format === "json") return new Secret(JSON.stringify(fields));
    return new Secret(typeof fields.token === "string" ? fields.token : "");
  }

  #dataPath(name: string): string {
    return `${this.#mount}/data/${name}`;
  }

  #metadataPath(name: string): string {
    return `${this.#mount}/metadata/${name}`;
  }

  /** Logs in again if the login is refused. Returns a 404 only if it means that nothing is there. */
  async #call(method: "GET" | "POST" | "DELETE", path: string, body?: JsonObject): Promise<VaultAnswer> {
    const send = async (token: Secret): Promise<VaultAnswer> =>
      this.#http.send({ method, path, token, ...(body && { body }) });
    const token = await this.#session.token();
    let answer = await send(token);
    if (answer.status === 403 && answer.isVaults && (await this.#session.isReplaced(token)))
      answer = await send(await this.#session.token());
    const isAbsent = answer.status === 404 && answer.isVaults && method === "GET" && !says(answer, /./);
    if (answer.status >= 300 && !isAbsent && answer.status !== 400) throw this.#failureOf(answer);
    return answer;
  }

  #data(answer: VaultAnswer): JsonObject {
    this.#expect(answer, 200);
    if (!isJsonObject(answer.body.data)) throw notVaults();
    return answer.body.data;
  }

  #expect(answer: VaultAnswer, ...statuses: readonly number[]): void {
    if (!statuses.includes(answer.status)) throw this.#failureOf(answer);
    if (!answer.isVaults) throw notVaults();
  }

  #failureOf(answer: VaultAnswer): SecretStoreFailure {
    const [before] = this.#path;
    const rights =
      `its policy needs create, read and update on ${this.#dataPath(before)}*, and create, read, update and delete ` +
      `on ${this.#metadataPath(before)}*`;
    return failureOf(answer, rights);
  }
}

const objectIn = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});
