import request from "undici/lib/api/api-request.js";
import Pool from "undici/lib/dispatcher/pool.js";
import type { Secret } from "../../core/secret/secret.ts";
import { type JsonObject, jsonObjectIn } from "../../core/text/json.ts";
import { SecretStoreFailure, type SecretStoreProblem } from "./secret-store.ts";
import { isForGood, retryAfterMs, systemCodeOf } from "./vendor-client.ts";

interface VaultRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** The part of the path after `/v1/`. */
  readonly path: string;
  readonly token?: Secret;
  readonly body?: JsonObject;
  readonly timeoutMs?: number;
}

export interface VaultAnswer {
  readonly status: number;
  /** Empty if the answer has no body, or a body that isn't an object. */
  readonly body: JsonObject;
  /** Whether the body has the shape of Vault's answers: a proxy's page hasn't. */
  readonly isVaults: boolean;
  readonly retryAfterMs: number | undefined;
}

/** For one request, from its start to the last byte of the answer. */
const TIMEOUT = 10_000;
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Vault's and OpenBao's API over HTTP. */
export function vaultHttp(address: string, namespace: string | undefined) {
  const url = new URL(address);
  const pool = new Pool(url.origin, {
    connections: 16,
    maxResponseSize: MAX_ANSWER_BYTES,
    connect: { timeout: TIMEOUT },
  });
  const root = `${url.pathname.replace(/\/+$/, "")}/v1/`;
  const always = {
    // A Vault agent or proxy can be configured to require this header.
    "x-vault-request": "true",
    ...(namespace === undefined ? {} : { "x-vault-namespace": namespace }),
  };

  return {
    /** Resolves to any answer, also a refusal. Rejects with a {@link SecretStoreFailure} if there was none. */
    async send({ method, path, token, body, timeoutMs = TIMEOUT }: VaultRequest): Promise<VaultAnswer> {
      try {
        const answer = await request.call(pool, {
          method,
          path: root + path,
          headers: {
            ...always,
            ...(token && { "x-vault-token": token.reveal() }),
            ...(body && { "content-type": "application/json" }),
          },
          body: body ? JSON.stringify(body) : null,
          signal: AbortSignal.timeout(timeoutMs),
        });
        const text = await answer.body.text();
        const said = jsonObjectIn(text);
        return {
          status: answer.statusCode,
          body: said ?? {},
          isVaults: said ? "data" in said || "auth" in said || "errors" in said : text === "",
          retryAfterMs: retryAfterMs(answer.headers["retry-after"]?.toString()),
        };
      } catch (error) {
        throw unreachable(error);
      }
    },
    async close(): Promise<void> {
      await pool.destroy();
    },
  };
}

export type VaultHttp = ReturnType<typeof vaultHttp>;

/**
 * Why a request failed. Vault's words may quote the request, so they are recognised here and never repeated. `rights`
 * says which policy the request needs.
 */
export function failureOf(answer: VaultAnswer, rights: string): SecretStoreFailure {
  const { status } = answer;
  const http = `HTTP ${status}`;
  const failure = (problem: SecretStoreProblem, message: string, hint: string) =>
    new SecretStoreFailure(problem, `${message} (${http})`, hint, answer.retryAfterMs);
  if (says(answer, /is sealed/i)) return failure("unavailable", "it is sealed", "unseal it");
  if (status === 429)
    return failure("throttled", "it asks to wait", "a rate limit quota of Vault's is too low for groupsync");
  if (says(answer, /upgrad(?:e|ing) from non-versioned/i))
    return failure("passing", "the engine is being upgraded to version 2", "wait until Vault has done so");
  if (status === 412)
    return failure("passing", "this node doesn't have yet what was written", "look at Vault's replication");
  if (status >= 300 && status < 400)
    return failure(
      "passing",
      "it sends its callers elsewhere, as a standby node does",
      "name the active node or a load balancer in tokens.address",
    );
  if (status >= 500)
    return failure("passing", "it failed", "look at Vault's log, and at what is in front of it");
  if (!answer.isVaults) return failure("unavailable", "the answer isn't Vault's", NOT_VAULT);
  if (status === 403)
    return failure("unavailable", "the login was refused, or it has too few rights", rights);
  if (status === 404 || status === 405)
    return failure("unavailable", "there is no KV version 2 engine there", NO_ENGINE);
  return failure("refused", "Vault doesn't take it", "look at Vault's audit log for why");
}

/** The failure for an answer with a good status that isn't Vault's. */
export const notVaults = (): SecretStoreFailure =>
  new SecretStoreFailure("unavailable", "the answer isn't Vault's", NOT_VAULT);

export const NO_ENGINE = "name the path of a KV version 2 engine in tokens.mount, and its tokens.namespace";
const NOT_VAULT = "check tokens.address: is there a proxy or a login page in between?";

/** Whether any error message of the answer matches. */
export function says({ body: { errors } }: VaultAnswer, pattern: RegExp): boolean {
  return Array.isArray(errors) && errors.some((text) => typeof text === "string" && pattern.test(text));
}

function unreachable(error: unknown): SecretStoreFailure {
  const code = systemCodeOf(error);
  // Show only the code: the parser's message may hold parts of the answer.
  const reason = code || (error instanceof Error ? error.name : "unknown error");
  const [problem, hint] = isForGood(code)
    ? ([
        "unavailable",
        "check tokens.address; NODE_EXTRA_CA_CERTS names a file with a CA of your own",
      ] as const)
    : (["passing", "is Vault running there, and can it be reached from here?"] as const);
  return new SecretStoreFailure(problem, `it can't be reached (${reason})`, hint);
}
