import type { TokenCredential } from "@azure/identity";
import type { SecretClient, SecretClientOptions } from "@azure/keyvault-secrets";
import { type Policy, refusals } from "./azure-failure.ts";
import { SecretStoreFailure } from "./secret-store.ts";
import { optional } from "./vendor-client.ts";

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
