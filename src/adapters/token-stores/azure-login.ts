import type { TokenCredential } from "@azure/identity";
import type { SecretClient, SecretClientOptions } from "@azure/keyvault-secrets";
import { type Policy, refusals } from "./azure-failure.ts";
import { optional } from "./optional-package.ts";
import { SecretStoreFailure } from "./secret-store.ts";

/** How to come to a vault other than by Azure's default credentials and the machine's own roots. */
export interface AzureAccess {
  readonly credential?: TokenCredential;
  readonly client?: SecretClientOptions;
}

/** A client with a login of its own. */
export async function connect(vaultUrl: string, access: AzureAccess): Promise<SecretClient> {
  // With AZURE_LOG_LEVEL the client prints its login.
  const { setLogLevel } = await optional("azure_key_vault", () => import("@azure/logger"));
  setLogLevel();
  const { SecretClient } = await optional("azure_key_vault", () => import("@azure/keyvault-secrets"));
  const credential = access.credential ?? (await defaultCredential());
  return new SecretClient(vaultUrl, withoutLoss(credential), {
    ...access.client,
    // The repeating is ours.
    retryOptions: { maxRetries: 0 },
    additionalPolicies: [limits, refusals],
  });
}

/** For one request, from its start to the last byte of the answer. */
const TIMEOUT = 15_000;

/** The client's own timeout ends with the first byte, and its timer outlives a call that failed. */
const limits: Policy = {
  position: "perCall",
  policy: {
    name: "groupsyncLimits",
    sendRequest(request, next) {
      const limit = AbortSignal.timeout(TIMEOUT);
      const { abortSignal } = request;
      request.abortSignal =
        abortSignal instanceof AbortSignal ? AbortSignal.any([abortSignal, limit]) : limit;
      return next(request);
    },
  },
};

/** Some credentials wait for an answer for as long as it takes. */
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
 * Before a token runs out the client gets another one in the background, where nobody handles a rejection: it would end
 * the process. As long as the old one is good, it is given once more instead.
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
