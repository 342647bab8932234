import { Pool } from "undici";
import { onTestFinished } from "vitest";
import { type Sandbox, type SandboxOptions, startSandbox } from "../../src/sandbox/server.ts";

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
}

export interface Client {
  call(method: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  page(path: string, method?: string, headers?: Record<string, string>): Promise<Reply>;
  destroy(): Promise<void>;
}

/** A sandbox and a client of it, for one test. */
export async function aSandbox(
  options: SandboxOptions = {},
  connections = 4,
): Promise<Sandbox & { client: Client }> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return { ...sandbox, client: aClient(sandbox, connections) };
}

export function aClient(sandbox: Pick<Sandbox, "baseUrl" | "apiKey">, connections = 4): Client {
  const pool = new Pool(sandbox.baseUrl, { connections });
  onTestFinished(() => pool.destroy());
  const send = async (path: string, method: string, headers: Record<string, string>, body?: string) => {
    const answer = await pool.request({
      path,
      method: method as "GET",
      headers: { authorization: `Token ${sandbox.apiKey}`, ...headers },
      body: body ?? null,
      reset: false,
    });
    const text = await answer.body.text();
    const isJson = answer.headers["content-type"] === "application/json";
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text,
      json: isJson ? JSON.parse(text) : undefined,
    };
  };
  return {
    call: (method, body, headers = {}) =>
      send(
        "/api/user",
        method,
        { "content-type": "application/json", ...headers },
        typeof body === "string" ? body : JSON.stringify(body),
      ),
    page: (path, method = "GET", headers = {}) => send(path, method, headers),
    destroy: () => pool.destroy(),
  };
}

export const aGroup = (overrides: Record<string, unknown> = {}) => ({
  user_group_id: "t-1",
  name: "Acme",
  mapping: { "40": "acme-sales" },
  properties: { plan: "gold", seats: 12, trial: false, tags: ["a"], region: null },
  ...overrides,
});
