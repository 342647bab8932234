import { asSyncError, interrupted, SyncError } from "../../core/failure/sync-error.ts";
import { MAX_ID_BYTES } from "../../core/group/tenant.ts";
import { tokenBucket } from "../../core/limits/token-bucket.ts";
import type { Secret } from "../../core/secret/secret.ts";
import { printableId } from "../../core/text/printable.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Served, ServeTenant } from "../../ports/serve-tenant.ts";
import { json, type Reply } from "../http/reply.ts";
import type { PostRequest, Routes } from "../http/routes.ts";
import { hasBearerKey } from "./bearer-key.ts";
import { servedReply } from "./served-reply.ts";
import { idOf, waitOf } from "./sync-request.ts";
import { WrongKeys } from "./wrong-keys.ts";

interface SyncRequestPorts {
  readonly serveTenant: ServeTenant;
  readonly clock: Clock;
  readonly log: Log;
  /** Gets the status of each reply. */
  readonly onReply: (status: number) => void;
}

/** The statuses that replies have. */
export const REPLY_STATUSES = [200, 202, 400, 401, 404, 409, 411, 413, 429, 503] as const;

/** The largest body. It is ignored, but some clients can't help sending one. In bytes. */
const LARGEST_BODY = 4_096;
/** The most requests that wait at once. Less than the connections that one address may have: see connection-limit.ts. */
const MOST_WAITING = 100;
const ALLOWED = { rate: { count: 100, perMs: 1_000 }, burst: 500 };
/** How much later than asked `serveTenant` may resolve, in milliseconds. */
const GRACE = 5_000;

/** `POST /sync/{user_group_id}`: serves one tenant for whoever has the key. */
export class SyncRequests {
  readonly #ports: SyncRequestPorts;
  readonly #stop: AbortSignal;
  readonly #wrongKeys = new WrongKeys();
  readonly #limiter = tokenBucket(ALLOWED);
  /** Each ends the wait of one request. */
  readonly #waits = new Set<() => void>();

  /** After the signal to stop aborts, nobody waits any more. */
  constructor(ports: SyncRequestPorts, stop: AbortSignal) {
    this.#ports = ports;
    this.#stop = stop;
    stop.addEventListener("abort", () => {
      for (const end of this.#waits) end();
    });
  }

  /** Without a key there is no such route. */
  routes(key: Secret | undefined): Routes {
    if (key === undefined) return {};
    const post = async (request: PostRequest): Promise<Reply> => {
      const reply = await this.#answer(request, key);
      this.#ports.onReply(reply.status);
      return reply;
    };
    return { "/sync/{user_group_id}": { post } };
  }

  /** Looks at the key first, so that nobody without it learns anything. */
  async #answer(request: PostRequest, key: Secret): Promise<Reply> {
    const now = this.#ports.clock.monotonic();
    const blockedMs = this.#wrongKeys.blockedFor(request.address, now);
    if (blockedMs > 0) return tooMany("too many wrong keys came from this address", blockedMs);
    if (!hasBearerKey(request.headers.authorization, key)) {
      this.#wrongKeys.add(request.address, now);
      return unauthorized();
    }
    const limitedMs = this.#limiter(now);
    if (limitedMs > 0) return tooMany("too many requests a second", limitedMs);
    const body = bodyProblem(request);
    if (body !== undefined) return body;
    const waitMs = waitOf(request.query);
    if (waitMs === undefined) return refused(400, "wait is a duration up to 60s; write it like 10s or 0");
    const id = idOf(request.below);
    if (id === undefined)
      return refused(400, "write the id percent-encoded, a slash as %2F: /sync/{user_group_id}");
    if (Buffer.byteLength(id) > MAX_ID_BYTES) return servedReply(id, { kind: "unknown" });
    if (this.#waits.size >= MOST_WAITING) return tooMany("too many requests wait at once", 1_000);
    return servedReply(id, await this.#served(id, waitMs, request.gone));
  }

  /** Resolves early if the client goes away or groupsync stops. The tenant is served all the same. */
  async #served(id: string, waitMs: number, gone: AbortSignal): Promise<Served> {
    if (this.#stop.aborted) return failed(interrupted());

    const ending = new AbortController();
    const end = (): void => ending.abort();
    this.#waits.add(end);
    gone.addEventListener("abort", end);
    const { serveTenant, clock } = this.#ports;
    try {
      return await Promise.race([
        serveTenant(id, waitMs),
        clock
          .sleep(waitMs + GRACE, ending.signal)
          .then((): Served => (this.#stop.aborted ? failed(interrupted()) : { kind: "pending" })),
      ]);
    } catch (error) {
      return this.#failedWith(error, id);
    } finally {
      this.#waits.delete(end);
    }
  }

  #failedWith(error: unknown, id: string): Served {
    if (error instanceof SyncError) return failed(error);
    const { code, message } = asSyncError(error);
    this.#ports.log({ level: "error", code, message: `cannot serve ${printableId(id)}: ${message}` });
    return failed(new SyncError(code, "groupsync has made a mistake; its log has the details"));
  }
}

const failed = ({ code, message }: SyncError): Served => ({ kind: "failed", code, message });

const refused = (status: number, message: string, headers: Readonly<Record<string, string>> = {}): Reply =>
  json(status, { message }, headers);

const unauthorized = (): Reply =>
  refused(401, "send the key of http.sync_key once, in the header Authorization: Bearer KEY", {
    "www-authenticate": "Bearer",
  });

const tooMany = (what: string, waitMs: number): Reply => {
  const seconds = String(Math.ceil(waitMs / 1_000));
  return refused(429, `${what}; try again in ${seconds} s`, { "retry-after": seconds });
};

function bodyProblem({ headers }: PostRequest): Reply | undefined {
  if (headers["transfer-encoding"] !== undefined)
    return refused(411, "the body needs a Content-Length; leave the body out");
  if (Number(headers["content-length"] ?? 0) > LARGEST_BODY)
    return refused(413, `the body is longer than ${LARGEST_BODY} bytes; leave it out`);
  return undefined;
}
