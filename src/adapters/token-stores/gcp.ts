import type { protos, SecretManagerServiceClient } from "@google-cloud/secret-manager";
import { Secret } from "../../core/secret.ts";
import { secretName } from "../../core/secret-name.ts";
import { SECRET_NAMING } from "../../core/secret-naming-by-store.ts";
import { codeOf, failureOf, isLogin } from "./gcp-failure.ts";
import { optional } from "./optional-package.ts";
import { type FoundSecret, notManaged, type SecretStore, SecretStoreFailure } from "./secret-store.ts";

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
  isPlain: (char: string) => /[a-z0-9-]/.test(char),
  hex: "lower",
  longest: 63,
} as const;

/** How many of the last writes are remembered, and for how long in milliseconds, if they aren't seen before. */
const REMEMBERED = 1_000;
const FOLLOWS_WITHIN = 3_600_000;

/** Secrets of Google Cloud's Secret Manager, of which the newest version counts, and is the only one that is kept. */
export class GcpStore implements SecretStore {
  readonly naming = SECRET_NAMING.gcp_secret_manager;
  readonly title: string;
  readonly #options: GcpStoreOptions;
  readonly #parent: string;
  readonly #labels: Readonly<Record<string, string>>;
  #client: Promise<SecretManagerServiceClient> | undefined;
  /** The numbers of versions that `latest` may not stand for yet: it follows, in seconds mostly. */
  readonly #written = new Map<string, { readonly number: number; readonly at: number }>();

  constructor(options: GcpStoreOptions) {
    this.#options = options;
    this.#parent = `projects/${options.project}`;
    this.title = `Secret Manager in the project ${options.project}`;
    // Of a name that is too long a little less than its whole hash.
    const scope = secretName(options.scope, ["", ""], LABEL).slice(0, LABEL.longest);
    this.#labels = { "managed-by": "groupsync", "groupsync-name": scope };
  }

  async prepare(): Promise<void> {
    const request = { parent: this.#parent, pageSize: 1 };
    await failing(async () => {
      const listing = await absent(this.#call((client) => client.listSecrets(request, LISTING)));
      if (!listing) throw noProject();
    });
  }

  get(name: string): Promise<FoundSecret | undefined> {
    return failing(async () => {
      const secret = await this.#find(name);
      if (!secret && this.#writtenLately(name) === undefined) return undefined;
      // What isn't groupsync's is not read either.
      if (secret && !this.#manages(secret)) return { content: new Secret(""), isManaged: false };
      const content = await this.#newest(name);
      return content && { content, isManaged: true };
    });
  }

  async put(name: string, content: Secret, isGood: (found: Secret) => boolean): Promise<void> {
    await failing(async () => {
      const isNew = await this.#create(name);
      if (!isNew) {
        const secret = await this.#find(name);
        if (!secret) throw notSeenYet(name);
        if (!this.#manages(secret)) throw notManaged(name);
        // There is none where a process died between making the secret and its first version.
        const found = await this.#newest(name);
        if (found && isGood(found)) return;
      }
      const number = await this.#add(name, content);
      if (!isNew) await this.#destroyOlder(name, number);
    });
  }

  async remove(name: string): Promise<void> {
    await failing(async () => {
      this.#written.delete(name);
      const secret = await this.#find(name);
      if (!secret) return;
      if (!this.#manages(secret)) throw notManaged(name);
      const request = { name: this.#path(name), etag: secret.etag ?? "" };
      await absent(this.#call((client) => client.deleteSecret(request, CALL)));
    });
  }

  holdsAny(): Promise<boolean> {
    const filter = Object.entries(this.#labels).map(([label, value]) => `labels.${label}=${value}`);
    const request = { parent: this.#parent, filter: filter.join(" AND ") };
    return failing(() =>
      this.#call(async (client) => {
        for await (const secret of client.listSecretsAsync(request, LISTING))
          if (this.#manages(secret)) return true;
        return false;
      }),
    );
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await closed(client);
  }

  #path(name: string): string {
    return `${this.#parent}/secrets/${name}`;
  }

  #manages({ labels }: GcpSecret): boolean {
    return Object.entries(this.#labels).every(([label, value]) => labels?.[label] === value);
  }

  async #find(name: string): Promise<GcpSecret | undefined> {
    const found = await absent(this.#call((client) => client.getSecret({ name: this.#path(name) }, CALL)));
    return found?.[0];
  }

  /** Whether it wasn't there yet. */
  async #create(name: string): Promise<boolean> {
    const secret = { labels: this.#labels, replication: { automatic: {} } };
    const request = { parent: this.#parent, secretId: name, secret };
    try {
      await this.#call((client) => client.createSecret(request, CALL));
      return true;
    } catch (error) {
      if (codeOf(error) === "ALREADY_EXISTS") return false;
      throw error;
    }
  }

  /** Resolves to the new version's number. */
  async #add(name: string, content: Secret): Promise<number> {
    const payload = { data: Buffer.from(content.reveal(), "utf8") };
    const request = { parent: this.#path(name), payload };
    const [version] = await this.#call((client) => client.addSecretVersion(request, CALL));
    const number = numberOf(version);
    this.#written.delete(name);
    this.#written.set(name, { number, at: Date.now() });
    const [oldest] = this.#written.keys();
    if (this.#written.size > REMEMBERED && oldest !== undefined) this.#written.delete(oldest);
    return number;
  }

  #writtenLately(name: string): number | undefined {
    const written = this.#written.get(name);
    return written && Date.now() - written.at < FOLLOWS_WITHIN ? written.number : undefined;
  }

  /** The content of the newest version, unless that one is disabled or destroyed. */
  async #newest(name: string): Promise<Secret | undefined> {
    const written = this.#writtenLately(name);
    const latest = await this.#access(name, "latest");
    if (written === undefined) return latest?.content;
    if (latest && latest.number >= written) {
      this.#written.delete(name);
      return latest.content;
    }
    // By its number, a version can be read at once.
    return (await this.#access(name, String(written)))?.content;
  }

  async #access(name: string, version: string): Promise<Version | undefined> {
    const request = { name: `${this.#path(name)}/versions/${version}` };
    try {
      const answer = await absent(this.#call((client) => client.accessSecretVersion(request, CALL)));
      if (!answer) return undefined;
      const data = answer[0].payload?.data ?? "";
      return { number: numberOf(answer[0]), content: new Secret(Buffer.from(data).toString("utf8")) };
    } catch (error) {
      // It is disabled or destroyed.
      if (codeOf(error) === "FAILED_PRECONDITION") return undefined;
      throw error;
    }
  }

  /** Every version costs money until it is destroyed. What fails in passing is made good with the next version. */
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
      const failure = failureOf(error);
      if (failure instanceof SecretStoreFailure && failure.problem !== "unavailable") return;
      throw failure;
    }
  }

  /** Logs in again, once, where the login has expired. */
  async #call<T>(work: (client: SecretManagerServiceClient) => Promise<T>): Promise<T> {
    const client = this.#connected();
    try {
      return await work(await client);
    } catch (error) {
      if (!isLogin(error)) throw error;
      if (this.#client === client) {
        this.#client = undefined;
        await closed(client);
      }
      return await work(await this.#connected());
    }
  }

  #connected(): Promise<SecretManagerServiceClient> {
    this.#client ??= connect(this.#options);
    return this.#client;
  }
}

async function connect(options: GcpStoreOptions): Promise<SecretManagerServiceClient> {
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
  if (endpoint === undefined) return new SecretManagerServiceClient();
  const { protocol, hostname, port } = new URL(endpoint);
  if (protocol !== "http:")
    return new SecretManagerServiceClient({ apiEndpoint: hostname, port: Number(port || 443) });
  const { grpc, googleAuthLibrary } = await optional("gcp_secret_manager", () => import("google-gax"));
  return new SecretManagerServiceClient({
    apiEndpoint: hostname,
    port: Number(port || 80),
    sslCreds: grpc.credentials.createInsecure(),
    authClient: new googleAuthLibrary.PassThroughClient(),
  });
}

/** A client that couldn't log in can't be closed either. */
async function closed(client: Promise<SecretManagerServiceClient> | undefined): Promise<void> {
  await client?.then((open) => open.close()).catch(() => {});
}

async function failing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failureOf(error);
  }
}

/** Undefined where what is asked for isn't there. */
async function absent<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (codeOf(error) === "NOT_FOUND") return undefined;
    throw error;
  }
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
