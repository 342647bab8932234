import { existsSync } from "node:fs";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isDeepStrictEqual } from "node:util";
import type { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { isJsonObject, type Json, type JsonObject, jsonObjectIn } from "../../core/text/json.ts";
import { SecretStoreFailure, type SecretStoreProblem } from "./secret-store.ts";
import { isForGood, optional, retryAfterMs, systemCodeOf } from "./vendor-client.ts";

export interface KubernetesAccess {
  /** By default the service account's or the context's. */
  readonly namespace?: string | undefined;
  /** By default the kubeconfig's current context. */
  readonly context?: string | undefined;
  /**
   * A file. If neither this nor a context is given: the cluster that this runs in, else KUBECONFIG, else
   * ~/.kube/config.
   */
  readonly kubeconfig?: string | undefined;
}

export interface KubernetesClient {
  readonly core: CoreV1Api;
  readonly namespace: string;
  close(): void;
}

/** For one request, from its start to the last byte of the answer. */
const TIMEOUT = 10_000;
const CONNECTIONS = 16;
const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/** Reads the credentials anew. Rejects with a {@link SecretStoreFailure}, or with CONFIG_PACKAGE_MISSING. */
export async function kubernetesClient(access: KubernetesAccess): Promise<KubernetesClient> {
  const kubernetes = await optional("kubernetes", () => import("@kubernetes/client-node"));
  const config = new kubernetes.KubeConfig();
  load(config, access);
  const server = config.getCurrentCluster()?.server;
  if (server === undefined)
    throw unusable("the kubeconfig has no such context", "name one of its contexts in tokens.context");
  let kept: { readonly agent: HttpAgent; readonly options: object } | undefined;
  const core = new kubernetes.CoreV1Api(
    kubernetes.createConfiguration({
      baseServer: new kubernetes.ServerConfiguration(server, {}),
      authMethods: {
        default: {
          getName: () => config.getName(),
          applySecurityAuthentication: async (request) => {
            await config.applySecurityAuthentication(request).catch(() => {
              throw unusable("the credentials in the kubeconfig can't be used", CREDENTIALS);
            });
            // The client itself would make a new connection, with a handshake, for each request. Its agent has other options
            // once a certificate was replaced.
            const made = request.getAgent();
            const options = optionsOf(made);
            if (!kept || !isDeepStrictEqual(kept.options, options))
              kept = { agent: keptAlive(made), options };
            request.setAgent(kept.agent);
            request.setSignal(AbortSignal.timeout(TIMEOUT));
          },
        },
      },
    }),
  );
  return {
    core,
    namespace: access.namespace ?? config.getContextObject(config.currentContext)?.namespace ?? "default",
    close: () => kept?.agent.destroy(),
  };
}

const CREDENTIALS =
  "are its files there, and does its exec plugin run? Plain http needs insecure-skip-tls-verify: true";

function load(config: KubeConfig, { kubeconfig, context }: KubernetesAccess): void {
  try {
    if (kubeconfig !== undefined) config.loadFromFile(kubeconfig);
    else if (context === undefined && existsSync(SERVICE_ACCOUNT_TOKEN)) config.loadFromCluster();
    else config.loadFromDefault();
  } catch (error) {
    // No cause: the parser quotes the line that it can't read, which may be a key.
    const isMissing = systemCodeOf(error) === "ENOENT";
    throw unusable(
      isMissing ? "there is no such kubeconfig" : "the kubeconfig can't be read",
      "name its file in tokens.kubeconfig, or in KUBECONFIG",
    );
  }
  // The client makes up this context if it has found no config.
  if (config.getCurrentContext() === "loaded-context")
    throw unusable(
      "this doesn't run in a cluster, and there is no kubeconfig",
      "name a kubeconfig in tokens.kubeconfig or in KUBECONFIG, or run groupsync in a pod that has a service account's token",
    );
  if (context !== undefined) config.setCurrentContext(context);
}

const unusable = (message: string, hint: string): SecretStoreFailure =>
  new SecretStoreFailure("unavailable", message, hint);

/** An agent with the same options that keeps its connections. A proxy's agent connects in its own way, and stays as it is. */
function keptAlive(agent: HttpAgent | undefined): HttpAgent {
  if (agent && agent.constructor !== HttpAgent && agent.constructor !== HttpsAgent) return agent;
  const Agent = agent?.constructor === HttpsAgent ? HttpsAgent : HttpAgent;
  return new Agent({ ...optionsOf(agent), keepAlive: true, maxSockets: CONNECTIONS });
}

const optionsOf = (agent: HttpAgent | undefined): object =>
  agent && "options" in agent && typeof agent.options === "object" ? { ...agent.options } : {};

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
export function failureOf(error: unknown, namespace: string): SecretStoreFailure {
  if (!isApiException(error)) return unreachable(error);
  const { code, headers } = error;
  const status = statusIn(error.body);
  const said = typeof status?.message === "string" ? status.message : "";
  const failure = (problem: SecretStoreProblem, message: string, hint: string) =>
    new SecretStoreFailure(problem, `${message} (HTTP ${code})`, hint, retryAfterMs(headers["retry-after"]));

  if (code === 429) return failure("throttled", "it asks to wait", PRIORITY);
  if (code >= 500) return failure("passing", "it failed", "is the API server well, and etcd behind it?");
  if (code === 401) return failure("unavailable", "the login was refused", LOGIN);
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
    "is it larger than 1 MiB, its name not a DNS subdomain, or the Secret immutable?",
  );
}

/** The failure for an answer with a good status that isn't the API's, such as a login page. */
export const notTheApi = (): SecretStoreFailure =>
  unusable(
    "the answer isn't the Kubernetes API's",
    "check the server in the kubeconfig: is there a proxy or a login page in between?",
  );

const LOGIN = "check the service account, or the user in the kubeconfig";
const OTHER_NAMESPACE = "make it, or name another in tokens.namespace";
const PRIORITY = "API priority and fairness gives groupsync's service account too little";
const WEBHOOK = /admission webhook .* denied|ValidatingAdmissionPolicy/;

const rights = (namespace: string): string =>
  `it needs a role: kubectl -n ${namespace} create role groupsync ` +
  "--verb=get,create,update,delete --resource=secrets, and a rolebinding to it";

const isApiException = (error: unknown): error is ApiException =>
  error instanceof Error && "code" in error && typeof error.code === "number" && "headers" in error;

function statusIn(body: unknown): JsonObject | undefined {
  const value = typeof body === "string" ? jsonObjectIn(body) : (body as Json | undefined);
  return isJsonObject(value) && value.kind === "Status" ? value : undefined;
}

function unreachable(error: unknown): SecretStoreFailure {
  const isLate = error instanceof Error && error.name === "AbortError";
  const code = systemCodeOf(error);
  if (code === "" && !isLate) return notTheApi();
  const what = isLate ? "it didn't answer in time" : `it can't be reached (${code})`;
  return isForGood(code)
    ? unusable(what, "check the server and its CA in the kubeconfig")
    : new SecretStoreFailure("passing", what, "can the API server be reached from here?");
}
