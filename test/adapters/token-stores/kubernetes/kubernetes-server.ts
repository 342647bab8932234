import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { aCertificateAuthority } from "../../../support/servers/certificates.ts";
import { listening } from "../../../support/servers/listening.ts";
import { failure, type KubernetesReply, KubernetesSecrets } from "./kubernetes-secrets.ts";

export interface KubernetesCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

const authority = aCertificateAuthority("the cluster's CA");
const certificate = authority.then((ca) => ca.issue(["127.0.0.1"]));

/** A Kubernetes API server written from the reference of its Secrets, with the namespace `dashboards`. */
export class KubernetesServer {
  readonly kube = new KubernetesSecrets();
  readonly calls: KubernetesCall[] = [];
  connections = 0;
  token = "a-service-account-token";
  /** Answers in its place, where it answers at all; undefined leaves it to the server. */
  instead: (call: KubernetesCall) => KubernetesReply | "silence" | undefined = () => undefined;
  address = "";
  close: () => Promise<void> = async () => {};

  /** Serves for one test. */
  async start(): Promise<this> {
    const server = createServer(
      await certificate,
      (request, response) => void this.#serve(request, response),
    );
    server.on("secureConnection", () => this.connections++);
    const { port, close } = await listening(server);
    this.address = `https://127.0.0.1:${port}`;
    this.close = close;
    return this;
  }

  /** As `kubectl config view --raw` prints it. */
  async kubeconfig({ namespace = "dashboards", token = this.token } = {}): Promise<string> {
    const ca = Buffer.from((await authority).cert).toString("base64");
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "here",
      clusters: [{ name: "one", cluster: { server: this.address, "certificate-authority-data": ca } }],
      users: [{ name: "me", user: { token } }],
      contexts: [
        { name: "here", context: { cluster: "one", user: "me", namespace } },
        { name: "elsewhere", context: { cluster: "one", user: "me", namespace: "elsewhere" } },
      ],
    });
  }

  said(): string[] {
    return this.calls.map(({ method, path }) => `${method} ${path.replace(/^.*\/secrets/, "")}`);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    const url = new URL(request.url ?? "", this.address);
    const call: KubernetesCall = {
      method: request.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      authorization: request.headers.authorization,
      body: text === "" ? undefined : JSON.parse(text),
    };
    this.calls.push(call);
    const reply = this.instead(call) ?? this.#answer(call);
    if (reply === "silence") return;
    const { status, body, headers = {} } = reply;
    const isText = typeof body === "string";
    response.writeHead(status, { "content-type": isText ? "text/html" : "application/json", ...headers });
    response.end(isText ? body : JSON.stringify(body));
  }

  #answer({ method, path, query, authorization, body }: KubernetesCall): KubernetesReply {
    if (authorization !== `Bearer ${this.token}`) return failure(401, "Unauthorized", "Unauthorized");
    const [, namespace, , name] = /^\/api\/v1\/namespaces\/([^/]+)\/secrets(\/([^/]+))?$/.exec(path) ?? [];
    if (namespace === undefined) return { status: 404, body: "404 page not found" };
    if (namespace === "dashboards") return this.kube.answer(method, name, query, body);
    if (method === "GET" && name === undefined)
      return { status: 200, body: { kind: "SecretList", items: [] } };
    return method === "GET"
      ? failure(404, "NotFound", `secrets "${name}" not found`)
      : failure(404, "NotFound", `namespaces "${namespace}" not found`);
  }
}
