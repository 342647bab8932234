import type { protos, SecretManagerServiceClient } from "@google-cloud/secret-manager";
import { Secret } from "../../core/secret.ts";
import { secretName } from "../../core/secret-name.ts";
import { SECRET_NAMING } from "../../core/secret-naming-by-store.ts";
import { expected } from "./expected.ts";
import { failureOf, isCode, isLoginFailure } from "./gcp-failure.ts";
import { bears, type Marks, marksOf, scopeIn } from "./marks.ts";
import { optional } from "./optional-package.ts";
import { RecentWrites } from "./recent-writes.ts";
import { type FoundSecret, notManaged, type SecretStore, SecretStoreFailure } from "./secret-store.ts";
import { SharedClient } from "./shared-client.ts";

export interface GcpStoreOptions {
  /** The project's id or number. */
  readonly project: string;
  /** Where Secret Manager is, if not at Google's: an `http:` url is an emulator's, spoken to without credentials. */
  readonly endpoint?: string | undefined;
  /** The config's `name`. */
  readonly scope: string;
}

type GcpSecret = protos.google.cloud.secretmanager.v1.ISecret;

interface Version {
  readonly number: number;
  readonly content: Secret;
}

/** The repeating is ours. */
const CALL = { timeout: 15_000, retry: null };
const LISTING = { ...CALL, autoPaginate: false };

/** A label's value has small letters, digits, `-` and `_`, 63 of them. */
const LABEL = {
  ...SECRET_NAMING.gcp_secret_manager,
  plain: /[a-z0-9-]/,
  hex: "lower",
  longest: 63,
} as const;

/** Secrets of Google Cloud's Secret Manager, of which the newest version counts, and is the only one that is kept. */
export class GcpStore implements SecretStore {
  readonly naming = SECRET_NAMING.gcp_secret_manager;
  readonly title: string;
  readonly #parent: string;
  readonly #labels: Marks;
  readonly #client: SharedClient<SecretManagerServiceClient>;
  /** What `latest` may not stand for yet: it follows, in seconds mostly. */
  readonly #recent = new RecentWrites();

  constructor(options: GcpStoreOptions) {
    const connect = (): Promise<SecretManagerServiceClient> => connectTo(options);
    this.#client = new SharedClient({ connect, isLoginFailure, close: (client) => client.close() });
    this.#parent = `projects/${options.project}`;
    this.title = `Secret Manager in the project ${options.project}`;
    // Of a name that is too long a little less than its whole hash.
    const scope = secretName(options.scope, ["", ""], LABEL).slice(0, LABEL.longest);
    this.#labels = marksOf(scope);
  }

  async prepare(): Promise<void> {
    const request = { parent: this.#parent, pageSize: 1 };
    const listing = await this.#unlessMissing((client) => client.listSecrets(request, LISTING));
    if (!listing) throw noProject();
  }

  async get(name: string): Promise<FoundSecret | undefined> {
    const secret = await this.#find(name);
    if (!secret && this.#recent.versionOf(name) === undefined) return undefined;
    // What isn't groupsync's is not read either.
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
    // There is none where a process died between making the secret and its first version.
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
    return bears(labels, this.#labels);
  }

  async #find(name: string): Promise<GcpSecret | undefined> {
    const request = { name: this.#path(name) };
    const found = await this.#unlessMissing((client) => client.getSecret(request, CALL));
    return found?.[0];
  }

  /** Whether it wasn't there yet. */
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
    // Somebody else has added one since.
    if (latest && latest.number > Number(written)) this.#recent.forget(name);
    const isStale = this.#recent.isStale(name, latest && String(latest.number));
    // By its number, a version can be read at once.
    return isStale && written !== undefined ? this.#access(name, written) : latest;
  }

  /** Undefined where it isn't there, disabled or destroyed. */
  async #access(name: string, version: string): Promise<Version | undefined> {
    const request = { name: `${this.#path(name)}/versions/${version}` };
    const isNone = isCode("NOT_FOUND", "FAILED_PRECONDITION");
    const answer = await this.#unless(isNone, (client) => client.accessSecretVersion(request, CALL));
    if (!answer) return undefined;
    const data = answer[0].payload?.data ?? "";
    return { number: numberOf(answer[0]), content: new Secret(Buffer.from(data).toString("utf8")) };
  }

  /** Every version costs money until it is destroyed. What fails in passing is made good when a token is put again. */
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
  // Its methods would do so too, but leave a rejection behind that nobody can handle.
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
