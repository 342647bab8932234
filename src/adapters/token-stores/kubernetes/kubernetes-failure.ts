import { SyncError } from "../../../core/failure/sync-error.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/text/json.ts";
import { SecretStoreFailure, type SecretStoreProblem } from "../secrets/secret-store.ts";
import { isForGood, retryAfterMs, systemCodeOf } from "../secrets/vendor-errors.ts";

/** What the client throws for an answer without success. */
interface ApiException extends Error {
  readonly code: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** Whether the API itself answered with this status, and not a proxy in between. */
export const isStatus =
  (status: number) =>
  (error: unknown): boolean =>
    // The client doesn't read the body of a 401.
    isApiException(error) && error.code === status && (status === 401 || statusIn(error.body) !== undefined);

/**
 * Why a call failed. Kubernetes quotes the request, and the client quotes the answer, so their words are recognised
 * here and never repeated.
 */
export function failureOf(error: unknown, namespace: string): SyncError | SecretStoreFailure {
  if (error instanceof SyncError || error instanceof SecretStoreFailure) return error;
  if (!isApiException(error)) return unreachable(error);
  const { code, headers } = error;
  const status = statusIn(error.body);
  const said = typeof status?.message === "string" ? status.message : "";
  const failure = (problem: SecretStoreProblem, message: string, hint: string) =>
    new SecretStoreFailure(problem, `${message} (HTTP ${code})`, hint, retryAfterMs(headers["retry-after"]));

  if (code === 429) return failure("throttled", "it asks for patience", PRIORITY);
  if (code >= 500) return failure("passing", "it failed", "is the API server well, and etcd behind it?");
  if (code === 401) return failure("unavailable", "the login was refused", CREDENTIALS);
  if (!status) return notTheApi();
  if (code === 409)
    return failure("passing", "the secret was changed at the same time", "who else writes it?");
  if (WEBHOOK.test(said))
    return failure("refused", "an admission policy denies it", "look at the cluster's policies");
  if (code === 403 && /exceeded quota/.test(said))
    return failure("unavailable", "the namespace's quota of secrets is used up", "raise its ResourceQuota");
  if (code === 403 && /being terminated/.test(said))
    return failure("unavailable", `the namespace ${namespace} is being removed`, OTHER_NAMESPACE);
  if (code === 403) return failure("unavailable", "the login has too few rights", rights(namespace));
  if (code === 404) return failure("unavailable", `there is no namespace ${namespace}`, OTHER_NAMESPACE);
  return failure(
    "refused",
    "Kubernetes doesn't take it",
    "is it larger than 1 MiB, or its name not a DNS subdomain?",
  );
}

/** The failure for an answer with a good status that isn't the API's, such as a login page. */
export const notTheApi = (): SecretStoreFailure =>
  new SecretStoreFailure("unavailable", "the answer isn't the Kubernetes API's", NOT_THE_API);

const CREDENTIALS = "check the service account, or the user in the kubeconfig";
const NOT_THE_API = "check the server in the kubeconfig: is there a proxy or a login page in between?";
const OTHER_NAMESPACE = "make it, or name another in tokens.namespace";
const PRIORITY = "API priority and fairness gives groupsync's service account too little";
const WEBHOOK = /admission webhook .* denied|ValidatingAdmissionPolicy/;

const rights = (namespace: string): string =>
  `it needs a role: kubectl -n ${namespace} create role groupsync ` +
  "--verb=get,list,create,update,delete --resource=secrets, and a rolebinding to it";

const isApiException = (error: unknown): error is ApiException =>
  error instanceof Error && "code" in error && typeof error.code === "number" && "headers" in error;

function statusIn(body: unknown): JsonObject | undefined {
  try {
    const value = (typeof body === "string" ? JSON.parse(body) : body) as Json | undefined;
    return isJsonObject(value) && value.kind === "Status" ? value : undefined;
  } catch {
    return undefined;
  }
}

function unreachable(error: unknown): SecretStoreFailure {
  if (error instanceof Error && error.name === "AbortError")
    return new SecretStoreFailure(
      "passing",
      "it didn't answer in time",
      "can the API server be reached from here?",
    );
  const code = systemCodeOf(error);
  if (code === "") return notTheApi();
  return isForGood(code)
    ? new SecretStoreFailure(
        "unavailable",
        `it can't be reached (${code})`,
        "check the server and its CA in the kubeconfig",
      )
    : new SecretStoreFailure(
        "passing",
        `it can't be reached (${code})`,
        "can the API server be reached from here?",
      );
}
