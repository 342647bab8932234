import type { SecretClientOptions } from "@azure/keyvault-secrets";
import { SecretStoreFailure, type SecretStoreProblem } from "./secret-store.ts";
import { retryAfterMs } from "./vendor-client.ts";

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

export type Policy = NonNullable<SecretClientOptions["additionalPolicies"]>[number];

/**
 * Turns refusals into {@link KeyVaultRefusal}s. The client's own errors hold the request, and no status if the body is
 * empty.
 */
export const refusals: Policy = {
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
