import type { protos, SecretManagerServiceClient } from "@google-cloud/secret-manager";
import { Secret } from "../../../core/secret/secret.ts";
import { SECRET_NAMING, secretName } from "../../../core/tokens/secrets.ts";
import { hasTags, type ManagedTags, managedTags, scopeIn } from "../secrets/managed-tags.ts";
import { optional } from "../secrets/optional-package.ts";
import { ReconnectingClient } from "../secrets/reconnecting-client.ts";
import {
  type FoundSecret,
  notManaged,
  type SecretStore,
  SecretStoreFailure,
} from "../secrets/secret-store.ts";
import { StaleReads } from "../secrets/stale-reads.ts";
import { expected } from "../secrets/vendor-errors.ts";
import { failureOf, isCode, isLoginFailure } from "./gcp-failure.ts";

interface GcpStoreOptions {
  /** The project's id or number. */
  readonly project: string;
  /** Replaces Google's own endpoint. An `http:` url is an emulator, and gets no credentials. */
  readonly endpoint?: string | undefined;
  /** The config's `name`. */
  readonly scope: string;
}

type GcpSecret = protos.google.cloud.secretmanager.v1.ISecret;

interface Version {
  readonly number: number;
  readonly content: Secret;
}

/** Turns off the client's retries, because the caller retries. */
const CALL = { timeout: 15_000, retry: null };
const LISTING = { ...CALL, autoPaginate: false };

/** A label's value has at most 63 small letters, digits, `-` and `_`. */
const LABEL = {
  ...SECRET_NAMING.gcp_secret_manager,
  plain: /[a-z0-9-]/,
  hex: "lower",
  longest: 63,
} as const;

/** Secrets in Google Cloud's Secret Manager. The newest version counts; older ones are destroyed. */
export class GcpStore implements SecretStore {
  readonly naming = SECRET_NAMING.gcp_secret_manager;
  readonly title: string;
  readonly #parent: string;
  readonly #labels: ManagedTags;
  readonly #client: ReconnectingClient<SecretManagerServiceClient>;
  /**
   * The versions that were written lately: for some seconds after a write, `latest` can still be the version before.
   */
  readonly #recent = new StaleReads();

  constructor(options: GcpStoreOptions) {
    const connect = (): Promise<SecretManagerServiceClient> => connectTo(options);
    this.#client = new ReconnectingClient({ connect, isLoginFailure, close: (client) => client.close() });
    this.#parent = `projects/${options.project}`;
    this.title = `Secret Manager in the project ${options.project}`;
    // If the name is too long, a prefix of its hash remains.
    const scope = secretName(options.scope, ["", ""], LABEL).slice(0, LABEL.longest);
    this.#labels = managedTags(scope);
  }

  async prepare(): Promise<void> {
    const request = { parent: this.#parent, pageSize: 1 };
    const listing = await this.#unlessMissing((client) => client.listSecrets(request, LISTING));
    if (!listing) throw noProject();
  }

  async get(name: string): Promise<FoundSecret | undefined> {
    const secret = await this.#find(name);
    if (!secret && this.#recent.versionOf(name) === undefined) return undefined;
    // Don't read a secret that isn't groupsync's.
    if (secret && !this.#manages(secret))
      return { content: new Secret(""), isManaged: false, scope: scopeIn(secret.labels) };
    const newest = await this.#newest(name);
    return newest && { content: newest.content, isManaged: true };
  }

  async put(name: string, content: Secret, isGood: (found: Secret) => boolean): Promise<void> {
    if (await this.#create(name)) {
      await this.#add(name, content);
      return;
    }
    const secret = await this.#find(name);
    if (!secret) throw notSeenYet(name);
    if (!this.#manages(secret)) throw notManaged(name);
    // There is no version if a process died between creating the secret and its first version.
    const newest = await this.#newest(name);
    const isDone = newest !== undefined && isGood(newest.content);
    await this.#destroyOlder(name, isDone ? newest.number : await this.#add(name, content));
  }

  async remove(name: string): Promise<void> {
    this.#recent.forget(name);
    const secret = await this.#find(name);
    if (!secret) return;
    if (!this.#manages(secret)) throw notManaged(name);
    const request = { name: this.#path(name), etag: secret.etag ?? "" };
    await this.#unlessMissing((client) => client.deleteSecret(request, CALL));
  }

  holdsAny(except?: string): Promise<boolean> {
    const filter = Object.entries(this.#labels).map(([label, value]) => `labels.${label}=${value}`);
    const request = { parent: this.#parent, filter: filter.join(" AND ") };
    return this.#call(async (client) => {
      for await (const secret of client.listSecretsAsync(request, LISTING))
        if (!secret.name?.endsWith(`/secrets/${except}`) && this.#manages(secret)) return true;
      return false;
    });
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #path(name: string): string {
    return `${this.#parent}/secrets/${name}`;
  }

  #manages({ labels }: GcpSecret): boolean {
    return hasTags(labels, this.#labels);
  }

  async #find(name: string): Promise<GcpSecret | undefined> {
    const request = { name: this.#path(name) };
    const found = await this.#unlessMissing((client) => client.getSecret(request, CALL));
    return found?.[0];
  }

  /** False if the secret exists. */
  async #create(name: string): Promise<boolean> {
    const secret = { labels: this.#labels, replication: { automatic: {} } };
    const request = { parent: this.#parent, secretId: name, secret };
    const isTaken = isCode("ALREADY_EXISTS");
    const made = await this.#unless(isTaken, (client) => client.createSecret(request, CALL));
    return made !== undefined;
  }

  /** Resolves to the new version's number. */
  async #add(name: string, content: Secret): Promise<number> {
    const payload = { data: Buffer.from(content.reveal(), "utf8") };
    const request = { parent: this.#path(name), payload };
    const [version] = await this.#call((client) => client.addSecretVersion(request, CALL));
    const number = numberOf(version);
    this.#recent.add(name, String(number));
    return number;
  }

  /** The newest version, unless that one is disabled or destroyed. */
  async #newest(name: string): Promise<Version | undefined> {
    const latest = await this.#access(name, "latest");
    const written = this.#recent.versionOf(name);
    // Somebody else has added a newer version.
    if (latest && latest.number > Number(written)) this.#recent.forget(name);
    const isStale = this.#recent.isStale(name, latest && String(latest.number));
    // A new version can be read by its number at once.
    return isStale && written !== undefined ? this.#access(name, written) : latest;
  }

  /** Undefined if the version is missing, disabled or destroyed. */
  async #access(name: string, version: string): Promise<Version | undefined> {
    const request = { name: `${this.#path(name)}/versions/${version}` };
    const isNone = isCode("NOT_FOUND", "FAILED_PRECONDITION");
    const answer = await this.#unless(isNone, (client) => client.accessSecretVersion(request, CALL));
    if (!answer) return undefined;
    const data = answer[0].payload?.data ?? "";
    return { number: numberOf(answer[0]), content: new Secret(Buffer.from(data).toString("utf8")) };
  }

  /**
   * Every version costs money until it is destroyed. Ignores failures of this secret alone: the next `put` tries again.
   */
  async #destroyOlder(name: string, newest: number): Promise<void> {
    try {
      await this.#call(async (client) => {
        for await (const version of client.listSecretVersionsAsync({ parent: this.#path(name) }, LISTING)) {
          if (numberOf(version) >= newest || version.state === "DESTROYED" || version.scheduledDestroyTime)
            continue;
          await client.destroySecretVersion({ name: version.name ?? "" }, CALL);
        }
      });
    } catch (error) {
      if (error instanceof SecretStoreFailure && error.problem !== "unavailable") return;
      throw error;
    }
  }

  #unlessMissing<T>(work: Work<T>): Promise<T | undefined> {
    return this.#unless(isCode("NOT_FOUND"), work);
  }

  #unless<T>(isExpected: (error: unknown) => boolean, work: Work<T>): Promise<T | undefined> {
    return this.#call((client) => work(client).catch(expected(isExpected, undefined)));
  }

  async #call<T>(work: Work<T>): Promise<T> {
    try {
      return await this.#client.call(work);
    } catch (error) {
      throw failureOf(error);
    }
  }
}

type Work<T> = (client: SecretManagerServiceClient) => Promise<T>;

async function connectTo(options: GcpStoreOptions): Promise<SecretManagerServiceClient> {
  const client = await makeClient(options);
  // Initialize here: if a method does it and fails, it leaves a rejection that nobody can handle.
  await client.initialize();
  return client;
}

async function makeClient({ endpoint }: GcpStoreOptions): Promise<SecretManagerServiceClient> {
  const { SecretManagerServiceClient } = await optional(
    "gcp_secret_manager",
    () => import("@google-cloud/secret-manager"),
  );
  const { grpc, googleAuthLibrary } = await optional("gcp_secret_manager", () => import("google-gax"));
  const { setBackend } = await optional("gcp_secret_manager", () => import("google-logging-utils"));
  // With GOOGLE_SDK_NODE_LOGGING the client prints tokens, and with GRPC_TRACE what it sends.
  setBackend(null);
  grpc.setLogVerbosity(grpc.logVerbosity.NONE);
  if (endpoint === undefined) return new SecretManagerServiceClient();
  const { protocol, hostname, port } = new URL(endpoint);
  if (protocol !== "http:")
    return new SecretManagerServiceClient({ apiEndpoint: hostname, port: Number(port || 443) });
  return new SecretManagerServiceClient({
    apiEndpoint: hostname,
    port: Number(port || 80),
    sslCreds: grpc.credentials.createInsecure(),
    authClient: new googleAuthLibrary.PassThroughClient(),
  });
}

const numberOf = ({ name }: { readonly name?: string | null }): number => Number(name?.split("/").at(-1));

const notSeenYet = (name: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "passing",
    `the secret ${name} can't be made, and can't be found either`,
    "Secret Manager follows its own changes after a while",
  );

const noProject = (): SecretStoreFailure =>
  new SecretStoreFailure("unavailable", "there is no such project", "is tokens.project the project's id?");
