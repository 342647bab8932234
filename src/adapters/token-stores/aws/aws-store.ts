import type { DescribeSecretResponse, SecretsManager, Tag } from "@aws-sdk/client-secrets-manager";
import { SyncError } from "../../../core/failure/sync-error.ts";
import { Secret } from "../../../core/secret/secret.ts";
import { isPlainHttpToAnotherHost } from "../../../core/tls/database-tls.ts";
import { SECRET_NAMING } from "../../../core/tokens/secrets.ts";
import { hasTags, type ManagedTags, managedTags, SCOPE_MARK, scopeIn } from "../secrets/managed-tags.ts";
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
import { failureOf, isLoginFailure, nameOf } from "./aws-failure.ts";

interface AwsStoreOptions {
  /** By default AWS_REGION or the profile's, as in AWS's own programs. */
  readonly region?: string | undefined;
  /** Replaces the region's own endpoint, such as by a VPC endpoint. */
  readonly endpoint?: string | undefined;
  /** Whether an endpoint on another host may be plain http. */
  readonly allowHttp?: boolean;
  /** The config's name: secrets of another config are left alone. */
  readonly scope: string;
}

/**
 * In milliseconds. The request timeout ends with the answer's first line; the socket timeout limits an answer that
 * stops halfway.
 */
const TIMEOUTS = {
  connectionTimeout: 5_000,
  requestTimeout: 15_000,
  throwOnRequestTimeout: true,
  socketTimeout: 15_000,
};

interface Tagged {
  readonly Tags?: readonly Tag[] | undefined;
}

const tagsOf = ({ Tags = [] }: Tagged): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Tags.map(({ Key, Value }) => [Key, Value]));

type Made = Readonly<{ VersionId?: string | undefined }>;

/** AWS Secrets Manager, one secret for each token, marked by its tags. */
export class AwsStore implements SecretStore {
  readonly naming = SECRET_NAMING.aws_secrets_manager;
  readonly title: string;
  readonly #options: AwsStoreOptions;
  readonly #marks: ManagedTags;
  readonly #recent = new StaleReads();
  readonly #client: ReconnectingClient<SecretsManager>;

  constructor(options: AwsStoreOptions) {
    const { region } = options;
    this.title = `AWS Secrets Manager${region === undefined ? "" : ` in ${region}`}`;
    this.#options = options;
    this.#marks = managedTags(options.scope);
    // A client keeps its credentials until they expire. After a refused login, a new client asks for new ones.
    const connect = (last?: SecretsManager): Promise<SecretsManager> => this.#connect(last);
    this.#client = new ReconnectingClient({ connect, isLoginFailure, close: (client) => client.destroy() });
  }

  async prepare(): Promise<void> {
    await this.holdsAny();
  }

  async get(name: string): Promise<FoundSecret | undefined> {
    const description = await this.#describe(name);
    if (!description && this.#recent.isStale(name, undefined)) throw notSeenYet(name);
    if (!description || description.DeletedDate) return undefined;
    // Don't read somebody else's value: it is often forbidden.
    if (!this.#manages(description))
      return { content: new Secret(""), isManaged: false, scope: scopeIn(tagsOf(description)) };
    return { content: await this.#valueOf(name), isManaged: true };
  }

  async put(name: string, content: Secret, isGood: (found: Secret) => boolean): Promise<void> {
    const made = (await this.#create(name, content)) ?? (await this.#change(name, content, isGood));
    if (made) this.#recent.add(name, made.VersionId);
  }

  async remove(name: string): Promise<void> {
    this.#recent.forget(name);
    const description = await this.#describe(name);
    if (!description) return;
    if (!this.#manages(description)) throw notManaged(name);
    // Without this the name would stay taken for a week at least. The token is dead, so nobody needs to recover it.
    const request = { SecretId: name, ForceDeleteWithoutRecovery: true };
    await this.#unlessMissing("DeleteSecret", (client) => client.deleteSecret(request));
  }

  async holdsAny(except?: string): Promise<boolean> {
    const Filters = [
      { Key: "tag-key" as const, Values: [SCOPE_MARK] },
      { Key: "tag-value" as const, Values: [this.#options.scope] },
    ];
    let NextToken: string | undefined;
    do {
      const page = await this.#call("ListSecrets", (client) =>
        client.listSecrets({ Filters, MaxResults: 100, NextToken }),
      );
      // Check each tag: the filters match beginnings of words, and may match two different tags.
      if (page.SecretList?.some((secret) => secret.Name !== except && this.#manages(secret))) return true;
      NextToken = page.NextToken;
    } while (NextToken);
    return false;
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /** Undefined if the name is taken. */
  #create(name: string, content: Secret): Promise<Made | undefined> {
    const Tags = Object.entries(this.#marks).map(([Key, Value]) => ({ Key, Value }));
    const request = { Name: name, SecretString: content.reveal(), Tags };
    // For a secret that is being deleted, or will be, AWS says "invalid request".
    const taken = ["ResourceExistsException", "InvalidRequestException"];
    return this.#unless(taken, "CreateSecret", (client) => client.createSecret(request));
  }

  /** Undefined if the present content is good. */
  async #change(
    name: string,
    content: Secret,
    isGood: (found: Secret) => boolean,
  ): Promise<Made | undefined> {
    const description = await this.#describe(name);
    // The secret has just been made or removed, and AWS shows that later.
    if (!description) throw notSeenYet(name);
    if (!this.#manages(description)) throw notManaged(name);
    if (description.DeletedDate) await this.#restore(name);
    else if (isGood(await this.#valueOf(name))) return undefined;
    return this.#call("PutSecretValue", (client) =>
      client.putSecretValue({ SecretId: name, SecretString: content.reveal() }),
    );
  }

  /** Rejects as "passing" if the secret is deleted for good: its name is free in a moment. */
  async #restore(name: string): Promise<void> {
    const gone = ["InvalidRequestException", "ResourceNotFoundException"];
    const restored = await this.#unless(gone, "RestoreSecret", (client) =>
      client.restoreSecret({ SecretId: name }),
    );
    if (!restored) throw notSeenYet(name);
  }

  #describe(name: string): Promise<DescribeSecretResponse | undefined> {
    return this.#unlessMissing("DescribeSecret", (client) => client.describeSecret({ SecretId: name }));
  }

  /** Empty if the secret has no value, or bytes. */
  async #valueOf(name: string): Promise<Secret> {
    const found = await this.#unlessMissing("GetSecretValue", (client) =>
      client.getSecretValue({ SecretId: name }),
    );
    if (this.#recent.isStale(name, found?.VersionId)) throw notSeenYet(name);
    return new Secret(found?.SecretString ?? "");
  }

  #manages(secret: Tagged): boolean {
    return hasTags(tagsOf(secret), this.#marks);
  }

  #unlessMissing<T>(call: string, send: (client: SecretsManager) => Promise<T>): Promise<T | undefined> {
    return this.#unless(["ResourceNotFoundException"], call, send);
  }

  #unless<T>(
    names: readonly string[],
    call: string,
    send: (client: SecretsManager) => Promise<T>,
  ): Promise<T | undefined> {
    const isOne = (error: unknown): boolean => names.includes(nameOf(error));
    return this.#call(call, (client) => send(client).catch(expected(isOne, undefined)));
  }

  async #call<T>(call: string, send: (client: SecretsManager) => Promise<T>): Promise<T> {
    try {
      return await this.#client.call(send);
    } catch (error) {
      throw failureOf(error, call);
    }
  }

  async #connect(last?: SecretsManager): Promise<SecretsManager> {
    const { region, endpoint, allowHttp = false } = this.#options;
    // Keep the correction of this machine's clock that the former client has found.
    const systemClockOffset = last?.config.systemClockOffset ?? 0;
    const { SecretsManager } = await optional(
      "aws_secrets_manager",
      () => import("@aws-sdk/client-secrets-manager"),
    );
    const client = new SecretsManager({
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint }),
      // The caller makes the retries.
      maxAttempts: 1,
      systemClockOffset,
      requestHandler: TIMEOUTS,
    });
    // AWS_ENDPOINT_URL and profiles name endpoints too. The client reads them at its first call, so check each request.
    const refuseHttp = { step: "finalizeRequest", name: "groupsyncRefuseHttp" } as const;
    client.middlewareStack.add(
      (next) => (args) => {
        if (!allowHttp && isPlainHttpToAnotherHost(args.request as URL)) throw plainEndpoint();
        return next(args);
      },
      refuseHttp,
    );
    await client.config.region().catch((cause: unknown) => {
      throw noRegion(cause);
    });
    return client;
  }
}

const notSeenYet = (name: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "passing",
    `the last change of the secret ${name} doesn't show yet`,
    "Secrets Manager takes a moment for it; the next sync tries again",
  );

const plainEndpoint = (): SyncError =>
  new SyncError("CONFIG_TLS", "the endpoint of AWS Secrets Manager is http to another host", {
    hint: "look at AWS_ENDPOINT_URL and the profile's endpoint_url: write https://…, or tokens.allow_http: true",
  });

const noRegion = (cause: unknown): SyncError =>
  new SyncError("CONFIG_REGION_MISSING", "tokens.store: aws_secrets_manager needs a region", {
    hint: "name it in tokens.region, in AWS_REGION or in the profile, such as eu-central-1",
    cause,
  });
