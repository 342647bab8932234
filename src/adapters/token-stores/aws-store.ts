import type { SecretsManager } from "@aws-sdk/client-secrets-manager";
import { SyncError } from "../../core/failure/sync-error.ts";
import { Secret } from "../../core/secret/secret.ts";
import { isPlainHttpToAnotherHost } from "../../core/tls/database-tls.ts";
import { SECRET_NAMING } from "../../core/tokens/secrets.ts";
import {
  hasTags,
  managedTags,
  type SecretStore,
  SecretStoreFailure,
  type SecretStoreProblem,
  scopeIn,
} from "./secret-store.ts";
import { taggedStore, type VendorSecret } from "./tagged-store.ts";
import { optional, retryAfterMs, systemCodeOf, VendorClient } from "./vendor-client.ts";

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

/** AWS Secrets Manager, one secret for each token, marked by its tags. */
export function awsStore(options: AwsStoreOptions): SecretStore {
  const { region } = options;
  const title = `AWS Secrets Manager${region === undefined ? "" : ` in ${region}`}`;
  const marks = managedTags(options.scope);
  // A client keeps its credentials until they expire. After a refused login, a new client asks for new ones.
  const vendor = new VendorClient<SecretsManager>({
    connect,
    isLoginFailure,
    failureOf,
    close: (client) => client.destroy(),
  });

  /** Empty if the secret has no value, or bytes. */
  async function contentOf(name: string): Promise<Secret> {
    const found = await unlessMissing("GetSecretValue", (client) =>
      client.getSecretValue({ SecretId: name }),
    );
    return new Secret(found?.SecretString ?? "");
  }

  function unlessMissing<T>(
    call: string,
    send: (client: SecretsManager) => Promise<T>,
  ): Promise<T | undefined> {
    return unless(["ResourceNotFoundException"], call, send);
  }

  function unless<T>(
    names: readonly string[],
    call: string,
    send: (client: SecretsManager) => Promise<T>,
  ): Promise<T | undefined> {
    return vendor.unless((error) => names.includes(nameOf(error)), send, call);
  }

  async function connect(): Promise<SecretsManager> {
    const { region, endpoint, allowHttp = false } = options;
    const { SecretsManager } = await optional(
      "aws_secrets_manager",
      () => import("@aws-sdk/client-secrets-manager"),
    );
    const client = new SecretsManager({
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint }),
      // The caller makes the retries.
      maxAttempts: 1,
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

  async function find(name: string): Promise<VendorSecret | undefined> {
    const found = await unlessMissing("DescribeSecret", (client) =>
      client.describeSecret({ SecretId: name }),
    );
    if (!found) return undefined;
    const tags = Object.fromEntries((found.Tags ?? []).map(({ Key, Value }) => [Key, Value]));
    const restore = `if it stays so: aws secretsmanager restore-secret --secret-id '${name}'`;
    return {
      isManaged: hasTags(tags, marks),
      scope: scopeIn(tags),
      // This passes in a moment if groupsync has deleted the secret, and not if somebody has scheduled its deletion.
      leaving: found.DeletedDate && restore,
      content: () => contentOf(name),
    };
  }

  return taggedStore({
    naming: SECRET_NAMING.aws_secrets_manager,
    title,
    find,
    async create(name, content) {
      const Tags = Object.entries(marks).map(([Key, Value]) => ({ Key, Value }));
      const request = { Name: name, SecretString: content.reveal(), Tags };
      // For a secret that is being deleted, or will be, AWS says "invalid request".
      const taken = ["ResourceExistsException", "InvalidRequestException"];
      const made = await unless(taken, "CreateSecret", (client) => client.createSecret(request));
      return made ? "created" : find(name);
    },
    async replace(name, _, content) {
      const request = { SecretId: name, SecretString: content.reveal() };
      await vendor.call((client) => client.putSecretValue(request), "PutSecretValue");
      return true;
    },
    async remove(name) {
      // Without this the name would stay taken for a week at least. The token is dead, so nobody needs to recover it.
      const request = { SecretId: name, ForceDeleteWithoutRecovery: true };
      await unlessMissing("DeleteSecret", (client) => client.deleteSecret(request));
      return true;
    },
    close: () => vendor.close(),
  });
}

const plainEndpoint = (): SyncError =>
  new SyncError("CONFIG_TLS", "the endpoint of AWS Secrets Manager is http to another host", {
    hint: "look at AWS_ENDPOINT_URL and the profile's endpoint_url: write https://…, or tokens.allow_http: true",
  });

const noRegion = (cause: unknown): SyncError =>
  new SyncError("CONFIG_REGION_MISSING", "tokens.store: aws_secrets_manager needs a region", {
    hint: "name it in tokens.region, in AWS_REGION or in the profile, such as eu-central-1",
    cause,
  });

const RIGHTS =
  "the identity needs secretsmanager:CreateSecret, TagResource, DescribeSecret, GetSecretValue, PutSecretValue " +
  "and DeleteSecret on these secrets, and kms:Decrypt and kms:GenerateDataKey if " +
  "they are encrypted with a key of your own";
const LOG_IN =
  "groupsync logs in with AWS's default chain of credentials: do its environment, profile or role give some that are " +
  "valid, and is this machine's clock right?";
const REACH = "can Secrets Manager in this region be reached from here, and is it well?";
const REGION = "is the region one of AWS, and can names be looked up from here?";
const FORMAT = "does tokens.endpoint, or a proxy on the way, lead to Secrets Manager?";
const QUOTA = "a quota of Secrets Manager is used up: see Service Quotas in this region";
const KEY = "is the KMS key of this secret enabled, and may groupsync use it?";
const REQUEST = "a secret holds 64 KiB at most, and one with replicas in other regions can't be removed";

type Meaning = readonly [SecretStoreProblem, hint: string];

const PASSING: Meaning = ["passing", REACH];
const THROTTLED: Meaning = ["throttled", QUOTA];
const NO_LOGIN: Meaning = ["unavailable", LOG_IN];

/** The meaning of errors by name, of those that their status doesn't tell. Some names come with "Exception" or without. */
const MEANINGS: readonly (readonly [meaning: Meaning, ...names: string[]])[] = [
  [["unavailable", RIGHTS], "AccessDenied", "NotAuthorized", "OptInRequired"],
  [NO_LOGIN, "CredentialsProviderError", "TokenProviderError", "UnrecognizedClient", "InvalidClientTokenId"],
  [NO_LOGIN, "ExpiredToken", "RequestExpired", "IncompleteSignature", "InvalidSignature"],
  [NO_LOGIN, "MissingAuthenticationToken"],
  [THROTTLED, "RequestLimitExceeded", "RequestThrottled", "SlowDown", "TooManyRequests"],
  [THROTTLED, "Throttled", "Throttling"],
  [PASSING, "RequestTimeout", "TimeoutError"],
  // Both can come while a secret is being made or removed, and then pass.
  [PASSING, "ResourceExists", "ResourceNotFound"],
  [["refused", KEY], "DecryptionFailure", "EncryptionFailure"],
  [["refused", REQUEST], "InvalidParameter", "InvalidRequest", "Validation"],
  [["refused", QUOTA], "LimitExceeded"],
];

function meaningOf(error: unknown): Meaning | undefined {
  const name = nameOf(error).replace(/Exception$/, "");
  return MEANINGS.find(([, ...names]) => names.includes(name))?.[0];
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : "");

/** Whether the credentials were refused, or there are none. */
const isLoginFailure = (error: unknown): boolean => meaningOf(error) === NO_LOGIN;

/** Repeats only names that are AWS's own: texts, and other names, may quote the request. */
function failureOf(error: unknown, call: string): SecretStoreFailure {
  const known = meaningOf(error);
  if (known) return new SecretStoreFailure(known[0], `${call}: ${nameOf(error)}`, known[1], waitIn(error));
  const status = statusOf(error);
  if (status !== undefined) {
    const [problem, hint]: Meaning =
      status === 429 ? THROTTLED : status >= 500 ? PASSING : ["unavailable", FORMAT];
    return new SecretStoreFailure(problem, `${call}: an answer with status ${status}`, hint, waitIn(error));
  }
  const code = systemCodeOf(error);
  if (code === "ENOTFOUND")
    return new SecretStoreFailure("unavailable", `${call}: there is no such host`, REGION);
  const reason = /^E[A-Z_]{2,20}$/.test(code) ? code : "no answer";
  return new SecretStoreFailure("passing", `${call}: ${reason}`, REACH);
}

interface AwsErrorFields {
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: {
    readonly statusCode?: number;
    readonly headers?: Readonly<Record<string, string>>;
  };
}

const answerOf = (error: unknown): AwsErrorFields =>
  error instanceof Error ? (error as Error & AwsErrorFields) : {};

const statusOf = (error: unknown): number | undefined =>
  answerOf(error).$metadata?.httpStatusCode ?? answerOf(error).$response?.statusCode;

const waitIn = (error: unknown): number | undefined =>
  retryAfterMs(answerOf(error).$response?.headers?.["retry-after"]);
