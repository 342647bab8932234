import { hash, timingSafeEqual } from "node:crypto";
import { asSyncError, interrupted, SyncError } from "../../core/failure/sync-error.ts";
import { MAX_ID_BYTES } from "../../core/group/tenant.ts";
import type { Secret } from "../../core/secret/secret.ts";
import { printableId, visible } from "../../core/text/printable.ts";
import { parseDuration } from "../../core/text/quantity.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Served, ServeTenant } from "../../ports/serve-tenant.ts";
import type { PostRequest, Reply, Routes } from "./routes.ts";

interface SyncRequestPorts {
  readonly clock: Pick<Clock, "sleep">;
  readonly serveTenant: ServeTenant;
  readonly log: Log;
  readonly onReply: (status: number) => void;
}

export const REPLY_STATUSES = [200, 202, 400, 401, 404, 409, 429, 503] as const;

/** The most requests that wait at once. Less than the connections that the server takes. */
const MOST_WAITING = 100;
/** How long a reply may be waited for, in milliseconds. */
const DEFAULT_WAIT = 10_000;
const LONGEST_WAIT = 60_000;
/** How much longer to wait for a ledger that is slow to take a standby's request, in milliseconds. */
const GRACE = 5_000;

/** ASCII without blanks and control characters, and without the slash. */
const ONE_SEGMENT = /^[!-.0-~]+$/;
/** In seconds: when to ask again about a tenant that could not be served. */
const RETRY_AFTER = "5";

/**
 * `POST /sync/{user_group_id}`: serves one tenant for whoever has the key. Without a key there is no such route. After the signal to
 * stop aborts, nobody waits any more.
 */
export function syncRequests(
  { clock, serveTenant, log, onReply }: SyncRequestPorts,
  stop: AbortSignal,
): (key: Secret | undefined) => Routes {
  const waits = new Set<AbortController>();
  stop.addEventListener("abort", () => {
    for (const wait of waits) wait.abort();
  });

  const failedWith = (error: unknown, id: string): Served => {
    if (error instanceof SyncError) return failed(error);
    const { code, message } = asSyncError(error);
    log({ level: "error", code, message: `cannot serve ${printableId(id)}: ${message}` });
    return failed(new SyncError(code, "groupsync has made a mistake; its log has the details"));
  };

  /** Resolves early if the client goes away or groupsync stops. The tenant is served all the same. */
  const serve = async (id: string, waitMs: number, gone: AbortSignal): Promise<Served> => {
    if (stop.aborted) return failed(interrupted());
    const wait = new AbortController();
    waits.add(wait);
    gone.addEventListener("abort", () => wait.abort());
    try {
      const served = await Promise.race([
        serveTenant(id, waitMs, wait.signal),
        clock.sleep(waitMs + GRACE, wait.signal).then((): Served => ({ kind: "pending" })),
      ]);
      return served.kind === "pending" && stop.aborted ? failed(interrupted()) : served;
    } catch (error) {
      return failedWith(error, id);
    } finally {
      wait.abort();
      waits.delete(wait);
    }
  };

  /** Looks at the key first, so that nobody without it learns anything. */
  const answer = async (request: PostRequest, key: Secret): Promise<Reply> => {
    if (!hasBearerKey(request.headers.authorization, key)) return unauthorized();
    const waitMs = waitOf(request.query);
    if (waitMs === undefined) return refused(400, "wait is a duration up to 60s; write it like 10s or 0");
    const id = idOf(request.below);
    if (id === undefined)
      return refused(400, "write the id percent-encoded, a slash as %2F: /sync/{user_group_id}");
    if (Buffer.byteLength(id) > MAX_ID_BYTES) return servedReply(id, { kind: "unknown" });
    if (waits.size >= MOST_WAITING)
      return refused(429, "too many requests wait at once; try again in a second", { "retry-after": "1" });
    return servedReply(id, await serve(id, waitMs, request.gone));
  };

  return (key) => {
    if (key === undefined) return {};
    const post = async (request: PostRequest): Promise<Reply> => {
      const reply = await answer(request, key);
      onReply(reply.status);
      return reply;
    };
    return { "/sync/{user_group_id}": { post } };
  };
}

const failed = ({ code, message }: SyncError): Served => ({ kind: "failed", code, message });

const refused = (status: number, message: string, headers: Readonly<Record<string, string>> = {}): Reply =>
  json(status, { message }, headers);

const unauthorized = (): Reply =>
  refused(401, "send the key of http.sync_key once, in the header Authorization: Bearer KEY", {
    "www-authenticate": "Bearer",
  });

/** The id that one percent-encoded segment of a path stands for; undefined if the segment stands for none. */
function idOf(segment: string): string | undefined {
  if (!ONE_SEGMENT.test(segment)) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch {
    // A percent sign without two digits after it, or bytes that are not UTF-8.
    return undefined;
  }
}

/** What `wait` says in a query, in milliseconds; undefined if it is wrong. */
function waitOf(query: string): number | undefined {
  const [wait, ...more] = new URLSearchParams(query).getAll("wait");
  if (wait === undefined) return DEFAULT_WAIT;
  const ms = parseDuration(wait);
  return ms !== undefined && ms <= LONGEST_WAIT && more.length === 0 ? ms : undefined;
}

/**
 * Whether a request has one Authorization header, and it is `Bearer` with this key. Compares digests, so that the time
 * that it takes says nothing about the key, not even its length.
 */
function hasBearerKey(authorization: readonly string[] | undefined, key: Secret): boolean {
  const [header = "", ...more] = authorization ?? [];
  const [, sent] = /^Bearer +(.+)$/i.exec(header) ?? [];
  if (sent === undefined || more.length > 0) return false;
  // Node.js gives each byte of a header as one character.
  return timingSafeEqual(digestOf(Buffer.from(sent, "latin1")), digestOf(Buffer.from(key.reveal())));
}

const digestOf = (bytes: Buffer): Buffer => hash("sha256", bytes, "buffer");

function servedReply(user_group_id: string, served: Served): Reply {
  switch (served.kind) {
    case "done":
      return json(200, { user_group_id, outcome: served.outcome });
    case "pending":
      return json(202, { user_group_id, outcome: "pending" });
    case "unknown": {
      const message = "the source has no tenant with this id: is the transaction of its INSERT committed?";
      return json(404, { user_group_id, outcome: "unknown", message });
    }
    case "conflict": {
      const { outcome, code, message } = served;
      return json(409, { user_group_id, outcome, code, message });
    }
    case "failed": {
      const { code, message } = served;
      return json(503, { user_group_id, outcome: "failed", code, message }, { "retry-after": RETRY_AFTER });
    }
    default:
      return served satisfies never;
  }
}

const json = (
  status: number,
  value: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Reply => ({
  status,
  contentType: "application/json",
  body: `${visible(JSON.stringify(value))}\n`,
  headers,
});
