import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listening } from "../../../support/servers/listening.ts";
import { VaultKv } from "./vault-kv.ts";

export interface VaultReply {
  readonly status: number;
  /** JSON; a string is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface VaultCall {
  readonly method: string;
  /** Behind `/v1/`. */
  readonly path: string;
  readonly token: string | undefined;
  readonly namespace: string | undefined;
  readonly body: unknown;
}

export interface VaultLease {
  readonly lease_duration: number;
  readonly renewable: boolean;
}

const ROOT = "hvs.root";
export const SECRET_ID = "an-approle-secret-id";
export const JWT = "a-service-account-token";

const errors = (status: number, ...texts: string[]): VaultReply => ({ status, body: { errors: texts } });
const denied = errors(403, "permission denied");

/** A Vault server written from the reference of its HTTP API, with one engine at `secret`. */
export class VaultServer {
  readonly kv = new VaultKv();
  readonly calls: VaultCall[] = [];
  /** Tokens that are good. */
  readonly tokens = new Set([ROOT]);
  readonly rootToken = ROOT;
  /** What logins and renewals give. */
  lease: VaultLease = { lease_duration: 3600, renewable: true };
  renewed: VaultLease | undefined;
  namespace: string | undefined;
  engine: { type: string; options: Record<string, string> | null } = {
    type: "kv",
    options: { version: "2" },
  };
  /** The address of a real one that answers in its place. */
  real: string | undefined;
  /** Answers in place of Vault, where it answers at all; undefined leaves it to Vault. */
  instead: (call: VaultCall) => VaultReply | "silence" | undefined = () => undefined;
  address = "";
  close: () => Promise<void> = async () => {};
  #logins = 0;

  /** Serves for one test. */
  async start(): Promise<this> {
    const server = createServer((request, response) => void this.#serve(request, response));
    const { port, close } = await listening(server);
    this.address = `http://127.0.0.1:${port}`;
    this.close = close;
    return this;
  }

  /** `GET secret/data/x`, in the order in which they came. */
  said(): string[] {
    return this.calls.map(({ method, path }) => `${method} ${path}`);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    const call: VaultCall = {
      method: request.method ?? "",
      path: (request.url ?? "").replace(/^\/v1\//, ""),
      token: request.headers["x-vault-token"]?.toString(),
      namespace: request.headers["x-vault-namespace"]?.toString(),
      body: text === "" ? undefined : JSON.parse(text),
    };
    this.calls.push(call);
    const reply = this.instead(call) ?? (this.real ? await realAnswer(this.real, call) : this.#answer(call));
    if (reply === "silence") return;
    const { status, body, headers = {} } = reply;
    const isText = typeof body === "string";
    response.writeHead(status, { "content-type": isText ? "text/html" : "application/json", ...headers });
    response.end(body === undefined ? undefined : isText ? body : JSON.stringify(body));
  }

  #answer(call: VaultCall): VaultReply {
    if (call.namespace !== this.namespace) return errors(404, `no handler for route "${call.path}"`);
    const login = /^auth\/([\w-]+)\/login$/.exec(call.path)?.[1];
    if (login !== undefined) return this.#login(login, call.body as Record<string, unknown>);
    if (call.token === undefined || !this.tokens.has(call.token)) return denied;
    switch (call.path) {
      case "auth/token/lookup-self":
        return {
          status: 200,
          body: { data: { ttl: this.lease.lease_duration, renewable: this.lease.renewable } },
        };
      case "auth/token/renew-self":
        return this.lease.renewable
          ? this.#auth(call.token, this.renewed)
          : errors(400, "lease is not renewable");
      case "auth/token/revoke-self":
        this.tokens.delete(call.token);
        return { status: 204 };
      case "sys/internal/ui/mounts/secret":
        return { status: 200, body: { data: { ...this.engine, path: "secret/" } } };
    }
    const [path = "", query = ""] = call.path.split("?");
    const [, endpoint, name] = /^secret\/(\w+)\/(.*)$/.exec(path) ?? [];
    if (endpoint === undefined || name === undefined) return errors(404, `no handler for route "${path}"`);
    return this.kv.answer(call.method, endpoint, name, query === "list=true", call.body);
  }

  #login(mount: string, fields: Record<string, unknown>): VaultReply {
    const isGood =
      mount === "approle"
        ? fields.role_id === "a-role" && fields.secret_id === SECRET_ID
        : fields.role === "groupsync" && fields.jwt === JWT;
    if (!isGood) return mount === "approle" ? errors(400, "invalid role or secret ID") : denied;
    const token = `hvs.login-${++this.#logins}`;
    this.tokens.add(token);
    return this.#auth(token);
  }

  #auth(client_token: string, lease = this.lease): VaultReply {
    return { status: 200, body: { auth: { client_token, ...lease } } };
  }
}

async function realAnswer(address: string, { method, path, token, body }: VaultCall): Promise<VaultReply> {
  const answer = await fetch(`${address}/v1/${path}`, {
    method,
    headers: { "x-vault-token": token ?? "", "content-type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
}
