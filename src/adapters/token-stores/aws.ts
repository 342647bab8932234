import type { DescribeSecretResponse, SecretsManager, Tag } from "@aws-sdk/client-secrets-manager";
import { SyncError } from "../../core/errors.ts";
import { Secret } from "../../core/secret.ts";
import { SECRET_NAMING } from "../../core/secret-naming-by-store.ts";
import { isPlainHttpElsewhere } from "../../core/this-machine.ts";
import { failureOf, isLoginFailure, nameOf } from "./aws-failure.ts";
import { expected } from "./expected.ts";
import { bears, type Marks, marksOf, SCOPE_MARK, scopeIn } from "./marks.ts";
import { optional } from "./optional-package.ts";
import { RecentWrites } from "./recent-writes.ts";
import { type FoundSecret, notManaged, type SecretStore, SecretStoreFailure } from "./secret-store.ts";
import { SharedClient } from "./shared-client.ts";

export interface AwsStoreOptions {
  /** By default what AWS's own programs take: AWS_REGION, or the profile's. */
  readonly region?: string | undefined;
  /** In place of the region's own, such as a VPC endpoint's. */
  readonly endpoint?: string | undefined;
  /** Whether an endpoint on another host may be plain http. */
  readonly allowHttp?: boolean;
  /** The config's name: what another one manages is left alone. */
  readonly scope: string;
}

/** In milliseconds. The last is for an answer that stops halfway: a request's timeout ends with its first line. */
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
  readonly #marks: Marks;
  readonly #recent = new RecentWrites();
  readonly #client: SharedClient<SecretsManager>;

  constructor(options: AwsStoreOptions) {
    const { region } = options;
    this.title = `AWS Secrets Manager${region === undefined ? "" : ` in ${region}`}`;
    this.#options = options;
    this.#marks = marksOf(options.scope);
    // A client keeps its credentials for as long as they say that they live: a new one asks for them anew.
    const connect = (last?: SecretsManager): Promise<SecretsManager> => this.#connect(last);
    this.#client = new SharedClient({ connect, isLoginFailure, close: (client) => client.destroy() });
  }

  async prepare(): Promise<void> {
    await this.holdsAny();
  }

  async get(name: string): Promise<FoundSecret | undefined> {
    const description = await this.#describe(name);
    if (!description && this.#recent.isStale(name, undefined)) throw notSeenYet(name);
    if (!description || description.DeletedDate) return undefined;
    // Of somebody else's the value is none of our business, and often forbidden.
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
    // Else the name would stay taken for a week at least; and its token is dead.
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
      // The filters match the beginnings of words, and not both of them the same tag.
      if (page.SecretList?.some((secret) => secret.Name !== except && this.#manages(secret))) return true;
      NextToken = page.NextToken;
    } while (NextToken);
    return false;
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /** Undefined where the name is taken. */
  #create(name: string, content: Secret): Promise<Made | undefined> {
    const Tags = Object.entries(this.#marks).map(([Key, Value]) => ({ Key, Value }));
    const request = { Name: name, SecretString: content.reveal(), Tags };
    // A name that is to be deleted, or is being deleted right now, makes it an invalid request.
    const taken = ["ResourceExistsException", "InvalidRequestException"];
    return this.#unless(taken, "CreateSecret", (client) => client.createSecret(request));
  }

  /** Undefined where the content is good as it is. */
  async #change(
    name: string,
    content: Secret,
    isGood: (found: Secret) => boolean,
  ): Promise<Made | undefined> {
    const description = await this.#describe(name);
    // It is made or removed just now, and shows only later.
    if (!description) throw notSeenYet(name);
    if (!this.#manages(description)) throw notManaged(name);
    if (description.DeletedDate) await this.#restore(name);
    else if (isGood(await this.#valueOf(name))) return undefined;
    return this.#call("PutSecretValue", (client) =>
      client.putSecretValue({ SecretId: name, SecretString: content.reveal() }),
    );
  }

  /** One that is deleted for good can't be restored, and its name is free in a moment. */
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

  /** Empty where there is none, or bytes. */
  async #valueOf(name: string): Promise<Secret> {
    const found = await this.#unlessMissing("GetSecretValue", (client) =>
      client.getSecretValue({ SecretId: name }),
    );
    if (this.#recent.isStale(name, found?.VersionId)) throw notSeenYet(name);
    return new Secret(found?.SecretString ?? "");
  }

  #manages(secret: Tagged): boolean {
    return bears(tagsOf(secret), this.#marks);
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
    // What it has learned of a clock that is wrong here.
    const systemClockOffset = last?.config.systemClockOffset ?? 0;
    const { SecretsManager } = await optional(
      "aws_secrets_manager",
      () => import("@aws-sdk/client-secrets-manager"),
    );
    const client = new SecretsManager({
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint }),
      // Patience with a store is the caller's.
      maxAttempts: 1,
      systemClockOffset,
      requestHandler: TIMEOUTS,
    });
    // AWS_ENDPOINT_URL and profiles name endpoints too, and the client looks at them with the first call.
    const refuseHttp = { step: "finalizeRequest", name: "groupsyncRefuseHttp" } as const;
    client.middlewareStack.add(
      (next) => (args) => {
        if (!allowHttp && isPlainHttpElsewhere(args.request as URL)) throw plainEndpoint();
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
