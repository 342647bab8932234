import { SyncError } from "../../../core/failure/sync-error.ts";
import { SecretStoreFailure, type SecretStoreProblem } from "../secrets/secret-store.ts";

/** The codes of gRPC by number, and what each means for a call. */
const CODES: readonly (readonly [name: string, problem: SecretStoreProblem])[] = [
  ["OK", "passing"],
  ["CANCELLED", "passing"],
  ["UNKNOWN", "passing"],
  ["INVALID_ARGUMENT", "refused"],
  ["DEADLINE_EXCEEDED", "passing"],
  ["NOT_FOUND", "passing"],
  ["ALREADY_EXISTS", "passing"],
  ["PERMISSION_DENIED", "unavailable"],
  ["RESOURCE_EXHAUSTED", "throttled"],
  ["FAILED_PRECONDITION", "refused"],
  ["ABORTED", "passing"],
  ["OUT_OF_RANGE", "refused"],
  ["UNIMPLEMENTED", "unavailable"],
  ["INTERNAL", "passing"],
  ["UNAVAILABLE", "passing"],
  ["DATA_LOSS", "refused"],
  ["UNAUTHENTICATED", "unavailable"],
];

const LOG_IN =
  "groupsync logs in with Google's application default credentials: " +
  "does workload identity, or GOOGLE_APPLICATION_CREDENTIALS, name an account that is there?";
const RIGHTS =
  "the account needs secretmanager.secrets.create, .get, .list and .delete and secretmanager.versions.access, .add, " +
  ".list and .destroy on the project, as roles/secretmanager.admin has them, and the Secret Manager API has to be enabled";

const HINTS: Readonly<Record<string, string>> = {
  INVALID_ARGUMENT: "a secret holds 64 KiB at most",
  FAILED_PRECONDITION:
    "does a policy of the organization forbid secrets that Google replicates automatically?",
  PERMISSION_DENIED: RIGHTS,
  RESOURCE_EXHAUSTED: "the project's quota for Secret Manager is used up: ask Google for more",
  UNAUTHENTICATED: LOG_IN,
  UNIMPLEMENTED: "does tokens.endpoint name Secret Manager, by gRPC?",
};

/** The name of an error's gRPC code; undefined if the error came before the call. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error && "code" in error && typeof error.code === "number")) return undefined;
  return CODES[error.code]?.[0];
}

export const isCode =
  (...codes: readonly string[]) =>
  (error: unknown): boolean =>
    codes.includes(codeOf(error) ?? "");

/** Whether the credentials were refused, or there are none. */
export function isLoginFailure(error: unknown): boolean {
  if (error instanceof SyncError || error instanceof SecretStoreFailure) return false;
  const code = codeOf(error);
  if (code !== undefined && code !== "UNKNOWN") return code === "UNAUTHENTICATED";
  // The client reports a failed login in words alone. Once it is closed, it rejects with a string.
  return (
    error instanceof Error &&
    (code === undefined || error.message.includes("Getting metadata from plugin failed"))
  );
}

/** Uses only the code: messages and details may quote the request. */
export function failureOf(error: unknown): SyncError | SecretStoreFailure {
  if (error instanceof SyncError || error instanceof SecretStoreFailure) return error;
  if (isLoginFailure(error)) {
    const said = codeOf(error) === "UNAUTHENTICATED" ? "the login was refused" : "cannot log in";
    return new SecretStoreFailure("unavailable", said, LOG_IN);
  }
  const code = codeOf(error) ?? "CANCELLED";
  const problem = CODES.find(([name]) => name === code)?.[1] ?? "passing";
  const hint = HINTS[code] ?? "can Secret Manager be reached from here, and is it well?";
  return new SecretStoreFailure(problem, `it answered ${code}`, hint, retryAfterMs(error));
}

/** The wait in google.rpc.RetryInfo, in milliseconds. */
function retryAfterMs(error: unknown): number | undefined {
  if (!(error instanceof Error && "statusDetails" in error && Array.isArray(error.statusDetails)))
    return undefined;
  const details: readonly {
    readonly retryDelay?: { readonly seconds?: unknown; readonly nanos?: unknown };
  }[] = error.statusDetails;
  const delay = details.find((detail) => detail?.retryDelay)?.retryDelay;
  if (!delay) return undefined;
  const ms = Number(delay.seconds ?? 0) * 1000 + Number(delay.nanos ?? 0) / 1e6;
  return Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}
