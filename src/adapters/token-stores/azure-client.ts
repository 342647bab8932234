import type { TokenCredential } from "@azure/identity";
import type { SecretClient, SecretClientOptions } from "@azure/keyvault-secrets";
import { SecretStoreFailure, type SecretStoreProblem } from "./secret-store.ts";
import { optional, retryAfterMs } from "./vendor-client.ts";

/** Replaces Azure's default credentials and client options. */
export interface AzureAccess {
  readonly credential?: TokenCredential;
  readonly client?: SecretClientOptions;
}

/** Makes a client with its own login. */
export async function connect(vaultUrl: string, access: AzureAccess): Promise<SecretClient> {
  // Turn the logs off: with AZURE_LOG_LEVEL the client would print its login.
  const { setLogLevel } = await optional("azure_key_vault", () => import("@azure/logger"));
  setLogLevel();
  const { SecretClient } = await optional("azure_key_vault", () => import("@azure/keyvault-secrets"));
  const credential = access.credential ?? (await defaultCredential());
  return new SecretClient(vaultUrl, withoutLoss(credential), {
    ...access.client,
    // The caller makes the retries.
    retryOptions: { maxRetries: 0 },
    additionalPolicies: [limits, refusals],
  });
}

/** For one request, from its start to the last byte of the answer. */
const TIMEOUT = 15_000;

/** Replaces the client's own timeout, which ends with the first byte, and whose timer outlives a failed call. */
const limits: Policy = {
  position: "perCall",
  policy: {
    name: "groupsyncLimits",
    async sendRequest(request, next) {
      const ending = new AbortController();
      const end = (): void => ending.abort();
      // Not AbortSignal.timeout: Node.js 20 forgets it if only AbortSignal.any refers to it, and then nothing ends the request.
      const limit = setTimeout(end, TIMEOUT);
      const { abortSignal } = request;
      if (abortSignal?.aborted) end();
      abortSignal?.addEventListener("abort", end);
      request.abortSignal = ending.signal;
      try {
        return await next(request);
      } finally {
        clearTimeout(limit);
        abortSignal?.removeEventListener("abort", end);
      }
    },
  },
};

/** Rejects after the timeout: some credentials would wait without a limit. */
const unanswered = (): Promise<never> =>
  new Promise((_, reject) => {
    const late = new SecretStoreFailure(
      "passing",
      "the login isn't answered",
      "can the managed identity's endpoint, or Microsoft Entra ID, be reached from here?",
    );
    AbortSignal.timeout(TIMEOUT).addEventListener("abort", () => reject(late));
  });

async function defaultCredential(): Promise<TokenCredential> {
  const { DefaultAzureCredential } = await optional("azure_key_vault", () => import("@azure/identity"));
  return new DefaultAzureCredential({ additionalPolicies: [limits] });
}

/**
 * Returns the last token again, while it is good, if a new one can't be had. The client renews a token in the
 * background before it expires, and nobody handles a rejection there: it would end the process.
 */
function withoutLoss(credential: TokenCredential): TokenCredential {
  let last: Awaited<ReturnType<TokenCredential["getToken"]>> = null;
  return {
    async getToken(scopes, options) {
      const isGood = last !== null && last.expiresOnTimestamp > Date.now();
      try {
        last = await Promise.race([credential.getToken(scopes, options), unanswered()]);
      } catch (error) {
        if (!isGood) throw error;
      }
      return last;
    },
  };
}

/** A refusal by Key Vault. Holds nothing that could quote the request. */
class KeyVaultRefusal extends Error {
  override readonly name = "KeyVaultRefusal";
  /** The client's pollers read this field: keep its name. */
  readonly statusCode: number;
  readonly isDisabled: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(statusCode: number, isDisabled: boolean, retryAfterMs: number | undefined) {
    super(`it answered ${statusCode}`);
    this.statusCode = statusCode;
    this.isDisabled = isDisabled;
    this.retryAfterMs = retryAfterMs;
  }
}

type Policy = NonNullable<SecretClientOptions["additionalPolicies"]>[number];

/**
 * Turns refusals into {@link KeyVaultRefusal}s. The client's own errors hold the request, and no status if the body is
 * empty.
 */
const refusals: Policy = {
  position: "perCall",
  policy: {
    name: "groupsyncRefusals",
    async sendRequest(request, next) {
      const response = await next(request);
      const { status, headers, bodyAsText } = response;
      if (status < 400) return response;
      const isDisabled = status === 403 && /"code"\s*:\s*"SecretDisabled"/.test(bodyAsText ?? "");
      throw new KeyVaultRefusal(status, isDisabled, retryAfterMs(headers.get("retry-after")));
    },
  },
};

const LOG_IN =
  "groupsync logs in with Azure's default credentials: does the workload or managed identity, or AZURE_CLIENT_ID and " +
  "the like, name an identity that is there?";
const RIGHTS =
  'the identity needs the role "Key Vault Secrets Officer" on the vault, or an access policy with get, list, set, ' +
  "delete, recover and purge, and the vault's network rules have to let it in";

/** By HTTP status. Any other 4xx concerns one secret, and any other 5xx passes. */
const PROBLEMS: Readonly<Record<number, readonly [problem: SecretStoreProblem, hint: string]>> = {
  400: ["refused", "a secret holds 25 KB at most"],
  401: ["unavailable", LOG_IN],
  403: ["unavailable", RIGHTS],
  404: ["passing", "does somebody else remove secrets there?"],
  408: ["passing", "is the vault well?"],
  409: ["passing", "the secret is being deleted, purged or recovered: that takes the vault a few seconds"],
  429: ["throttled", "the vault's limit of transactions is used up: does somebody else use it too?"],
};

export const isStatus =
  (...statuses: readonly number[]) =>
  (error: unknown): boolean =>
    error instanceof KeyVaultRefusal && statuses.includes(error.statusCode);

/** Whether the newest version of a secret is disabled: it exists, but can't be read. */
export const isDisabled = (error: unknown): boolean => error instanceof KeyVaultRefusal && error.isDisabled;

/** Whether the login was refused or failed. */
export const isLoginFailure = (error: unknown): boolean =>
  isStatus(401)(error) ||
  (error instanceof Error && /^(Credential\w*|(Aggregate)?Authentication\w*)Error$/.test(error.name));

export function failureOf(error: unknown): SecretStoreFailure {
  if (!(error instanceof KeyVaultRefusal)) {
    // Don't show the error's text: a credential's errors may quote its secrets.
    if (isLoginFailure(error)) return new SecretStoreFailure("unavailable", "cannot log in", LOG_IN);
    const hint = "is tokens.vault_url the vault's, and can it be reached from here?";
    return new SecretStoreFailure("passing", "there was no answer that can be read", hint);
  }
  const { statusCode, message, retryAfterMs } = error;
  const passes = statusCode >= 500;
  const [problem, hint] = PROBLEMS[statusCode] ?? [passes ? "passing" : "refused", "is the vault well?"];
  return new SecretStoreFailure(problem, message, hint, retryAfterMs);
}
