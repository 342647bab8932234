import { existsSync } from "node:fs";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isDeepStrictEqual } from "node:util";
import type { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { optional } from "../secrets/optional-package.ts";
import { SecretStoreFailure } from "../secrets/secret-store.ts";
import { systemCodeOf } from "../secrets/vendor-errors.ts";

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
  const connections = new Connections();
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
            request.setAgent(connections.like(request.getAgent()));
            request.setSignal(AbortSignal.timeout(TIMEOUT));
          },
        },
      },
    }),
  );
  return {
    core,
    namespace: access.namespace ?? config.getContextObject(config.currentContext)?.namespace ?? "default",
    close: () => connections.close(),
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

/** Keeps connections open: the client itself would make a new one, with a handshake, for each request. */
class Connections {
  #kept: { readonly agent: HttpAgent; readonly options: unknown } | undefined;

  /** A keep-alive agent with the same options. They may change during a run, as when a certificate is replaced. */
  like(agent: HttpAgent | undefined): HttpAgent {
    // A proxy's agent connects in its own way: keep it.
    if (agent?.constructor !== HttpAgent && agent?.constructor !== HttpsAgent)
      return agent ?? new HttpAgent();
    const options = "options" in agent && typeof agent.options === "object" ? { ...agent.options } : {};
    if (!isDeepStrictEqual(this.#kept?.options, options)) {
      const Agent = agent.constructor === HttpsAgent ? HttpsAgent : HttpAgent;
      this.#kept = { agent: new Agent({ ...options, keepAlive: true, maxSockets: CONNECTIONS }), options };
    }
    return this.#kept?.agent ?? agent;
  }

  close(): void {
    this.#kept?.agent.destroy();
    this.#kept = undefined;
  }
}
