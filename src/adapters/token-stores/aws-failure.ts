import { SecretStoreFailure, type SecretStoreProblem } from "./secret-store.ts";
import { retryAfterMs, systemCodeOf } from "./vendor-client.ts";

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

export const nameOf = (error: unknown): string => (error instanceof Error ? error.name : "");

/** Whether the credentials were refused, or there are none. */
export const isLoginFailure = (error: unknown): boolean => meaningOf(error) === NO_LOGIN;

/** Repeats only names that are AWS's own: texts, and other names, may quote the request. */
export function failureOf(error: unknown, call: string): SecretStoreFailure {
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
