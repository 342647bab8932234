import { Secret } from "../../core/secret/secret.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/text/json.ts";
import { SECRET_NAMING, type SecretPath, type TokenFormat } from "../../core/tokens/secrets.ts";
import type { Clock } from "../../ports/clock.ts";
import {
  hasTags,
  managedTags,
  notManaged,
  type SecretStore,
  SecretStoreFailure,
  scopeIn,
} from "./secret-store.ts";
import { taggedStore, type VendorSecret } from "./tagged-store.ts";
import { failureOf, NO_ENGINE, notVaults, says, type VaultAnswer, vaultHttp } from "./vault-client.ts";
import { type VaultAuth, vaultSession } from "./vault-session.ts";

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
export function vaultStore(
  { address, mount, namespace, auth, path, format, scope }: VaultStoreOptions,
  clock: Clock,
): SecretStore {
  const http = vaultHttp(address, namespace);
  const session = vaultSession(http, auth, clock);
  const marks = managedTags(scope);

  async function mark(name: string, metadata: JsonObject): Promise<void> {
    expect(await call("POST", metadataPath(name), metadata), 204, 200);
  }

  /** Writes the version after `version`. False if that isn't the newest version any more. */
  async function write(name: string, content: Secret, version: number): Promise<boolean> {
    const answer = await call("POST", dataPath(name), {
      options: { cas: version },
      data: fieldsOf(content),
    });
    if (answer.status === 400 && says(answer, /check-and-set parameter did not match/)) return false;
    dataIn(answer);
    return true;
  }

  /** The newest version; undefined if it is deleted or destroyed, or if there is none yet. */
  async function read(name: string): Promise<Secret | undefined> {
    const answer = await call("GET", dataPath(name));
    if (answer.status === 404) return undefined;
    const { data, metadata } = dataIn(answer);
    if (!isJsonObject(data) || !isJsonObject(metadata)) throw notVaults();
    return contentOf(data);
  }

  function fieldsOf(content: Secret): JsonObject {
    return format === "token" ? { token: content.reveal() } : objectIn(JSON.parse(content.reveal()) as Json);
  }

  function contentOf(fields: JsonObject): Secret {
    if (format === "json") return new Secret(JSON.stringify(fields));
    return new Secret(typeof fields.token === "string" ? fields.token : "");
  }

  function dataPath(name: string): string {
    return `${mount}/data/${name}`;
  }

  function metadataPath(name: string): string {
    return `${mount}/metadata/${name}`;
  }

  /** Logs in again if the login is refused. Returns a 404 only if it means that nothing is there. */
  async function call(
    method: "GET" | "POST" | "DELETE",
    path: string,
    body?: JsonObject,
  ): Promise<VaultAnswer> {
    const send = async (token: Secret): Promise<VaultAnswer> =>
      http.send({ method, path, token, ...(body && { body }) });
    const token = await session.token();
    let answer = await send(token);
    if (answer.status === 403 && answer.isVaults && (await session.isReplaced(token)))
      answer = await send(await session.token());
    const isAbsent = answer.status === 404 && answer.isVaults && method === "GET" && !says(answer, /./);
    if (answer.status >= 300 && !isAbsent && answer.status !== 400) throw failed(answer);
    return answer;
  }

  function dataIn(answer: VaultAnswer): JsonObject {
    expect(answer, 200);
    if (!isJsonObject(answer.body.data)) throw notVaults();
    return answer.body.data;
  }

  function expect(answer: VaultAnswer, ...statuses: readonly number[]): void {
    if (!statuses.includes(answer.status)) throw failed(answer);
    if (!answer.isVaults) throw notVaults();
  }

  function failed(answer: VaultAnswer): SecretStoreFailure {
    const [before] = path;
    const rights =
      `its policy needs create, read and update on ${dataPath(before)}*, and create, read, update and delete ` +
      `on ${metadataPath(before)}*`;
    return failureOf(answer, rights);
  }

  async function find(name: string): Promise<FoundSecret | undefined> {
    const answer = await call("GET", metadataPath(name));
    if (answer.status === 404) return undefined;
    const { custom_metadata, current_version } = dataIn(answer);
    const tags = objectIn(custom_metadata);
    return {
      isManaged: hasTags(tags, marks),
      scope: scopeIn(tags),
      // Of two configs that claim a path at once, the loser takes the tags away again. The content still names the winner.
      isOpen: true,
      content: () => read(name),
      version: Number(current_version),
    };
  }

  return taggedStore({
    title: `Vault at ${new URL(address).origin}, mount ${mount}`,
    naming: SECRET_NAMING.vault,
    async inspect() {
      const path = `sys/internal/ui/mounts/${mount}`;
      const answer = await call("GET", path);
      // A proxy may block this path.
      if (answer.status === 404) return;
      if (objectIn(dataIn(answer).options).version !== "2")
        throw new SecretStoreFailure("unavailable", "the engine there isn't KV version 2", NO_ENGINE);
    },
    find,
    /** Writes the tags first. Then the check-and-set shows whether somebody else has created a secret meanwhile. */
    async create(name, content) {
      const there = await find(name);
      if (there) return there;
      await mark(name, { custom_metadata: marks, max_versions: MAX_VERSIONS });
      if (await write(name, content, 0)) return "created";
      if ((await read(name))?.equals(content)) return "created";
      await mark(name, { custom_metadata: {}, max_versions: 0 });
      throw notManaged(name);
    },
    replace: (name, { version }, content) => write(name, content, version),
    async remove(name) {
      expect(await call("DELETE", metadataPath(name)), 204);
      return true;
    },
    async close() {
      await session.close();
      await http.close();
    },
  });
}

const objectIn = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});
