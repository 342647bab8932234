import { existsSync } from "node:fs";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isDeepStrictEqual } from "node:util";
import type { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { optional } from "./optional-package.ts";
import { SecretStoreFailure } from "./secret-store.ts";
import { systemCodeOf } from "./system-error.ts";

export interface KubernetesAccess {
  /** The service account's or the context's where it is left out. */
  readonly namespace?: string | undefined;
  /** The kubeconfig's current one where it is left out. */
  readonly context?: string | undefined;
  /** A file. Without it, and without a context: the cluster that this runs in, else KUBECONFIG, else ~/.kube/config. */
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
    // The parser quotes the line that it can't read, and that may be a key.
    const isMissing = systemCodeOf(error) === "ENOENT";
    throw unusable(
      isMissing ? "there is no such kubeconfig" : "the kubeconfig can't be read",
      "name its file in tokens.kubeconfig, or in KUBECONFIG",
    );
  }
  // What the client makes up where it has found nothing.
  if (config.getCurrentContext() === "loaded-context")
    throw unusable(
      "this doesn't run in a cluster, and there is no kubeconfig",
      "name a kubeconfig in tokens.kubeconfig or in KUBECONFIG, or run groupsync in a pod that has a service account's token",
    );
  if (context !== undefined) config.setCurrentContext(context);
}

const unusable = (message: string, hint: string): SecretStoreFailure =>
  new SecretStoreFailure("unavailable", message, hint);

/** Connections that are kept: the client makes new ones for each request, and so a handshake. */
class Connections {
  #kept: { readonly agent: HttpAgent; readonly options: unknown } | undefined;

  /** An agent that does as this one does. Certificates may be replaced in the middle of a run. */
  like(agent: HttpAgent | undefined): HttpAgent {
    // A proxy's agent keeps to itself how it connects.
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
