import request from "undici/lib/api/api-request.js";
import Pool from "undici/lib/dispatcher/pool.js";
import { describe } from "../../core/failure/sync-error.ts";
import type { Secret } from "../../core/secret/secret.ts";
import { visible } from "../../core/text/printable.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Notifier, Unreached } from "../../ports/notifier.ts";

interface NotifyOptions {
  readonly webhook?: Secret;
  readonly heartbeat?: Secret;
}

/** The limit of one attempt, and of all attempts that begin after the signal to stop, in milliseconds. */
const TIMEOUT = 5_000;
/**
 * The waits before each attempt, in milliseconds. Each message is sent once, so a short outage of the receiver is
 * retried.
 */
const ATTEMPTS = [0, 1_000, 4_000];

/**
 * Sends messages to a webhook as Slack's `{"text": "…"}`, and heartbeats to a monitor. An address that is left out gets
 * nothing. Once the signal aborts, no message is tried again.
 */
export function httpNotifier(options: NotifyOptions, clock: Clock, log: Log, signal: AbortSignal): Notifier {
  const reachedAt: Partial<Record<Unreached["key"], Date | null>> = {
    ...(options.webhook && { "notify.webhook": null }),
    ...(options.heartbeat && { "notify.heartbeat": null }),
  };
  const unreached = new Map<Unreached["key"], Unreached>();
  /** When the last attempt has to end, on the monotonic clock. Undefined until one begins after the signal to stop. */
  let end: number | undefined;

  /** Logs no address: it is a secret. The client's errors may hold it, too. */
  async function send(key: Unreached["key"], url: Secret | undefined, options: Sent): Promise<void> {
    if (url === undefined) return;
    let problem = "";
    for (const waitMs of ATTEMPTS) {
      if (waitMs > 0 && !signal.aborted) await clock.sleep(waitMs, signal);
      if (waitMs > 0 && signal.aborted) break;
      const found = await attempt(url, options, limitMs());
      if (found === undefined) {
        unreached.delete(key);
        reachedAt[key] = clock.now();
        return;
      }
      problem = found;
    }
    const since = unreached.get(key)?.since ?? clock.now();
    unreached.set(key, { key, since, message: problem });
    log({
      level: "warn",
      code: "NOTIFY_FAILED",
      message: `${key} was not reached: ${problem}`,
      hint: "syncs go on all the same; check the address, and what is between here and there",
    });
  }

  function limitMs(): number {
    if (!signal.aborted) return TIMEOUT;
    const now = clock.monotonic();
    end ??= now + TIMEOUT;
    return Math.max(0, Math.round(end - now));
  }

  return {
    async tell(message) {
      const body = JSON.stringify({ text: escaped(visible(message)) });
      const headers = { "content-type": "application/json" };
      await send("notify.webhook", options.webhook, { method: "POST", headers, body });
    },
    async beat() {
      await send("notify.heartbeat", options.heartbeat, { method: "GET" });
    },
    get unreached() {
      return [...unreached.values()];
    },
    get reachedAt() {
      return { ...reachedAt };
    },
  };
}

interface Sent {
  readonly method: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What went wrong; undefined if nothing did. */
async function attempt(url: Secret, options: Sent, limitMs: number): Promise<string | undefined> {
  if (limitMs === 0) return "groupsync is stopping, and no time was left for this message";
  const limit = AbortSignal.timeout(limitMs);
  let pool: Pool | undefined;
  try {
    const address = new URL(url.reveal());
    // The signal doesn't end a connection that is being made.
    pool = new Pool(address.origin, { connectTimeout: limitMs });
    const { statusCode, body } = await request.call(pool, {
      ...options,
      path: address.pathname + address.search,
      headers: { ...options.headers, ...authorization(address) },
      signal: limit,
    });
    await body.dump();
    return statusCode < 300 ? undefined : `HTTP ${statusCode}`;
  } catch (error) {
    if (limit.aborted) return `no answer within ${limitMs / 1_000} s`;
    return describe(error).replaceAll(url.reveal(), "…");
  } finally {
    await pool?.destroy();
  }
}

/** Basic authentication from the user and password in the address: the client ignores them. */
function authorization({ username, password }: URL): Record<string, string> {
  if (username === "" && password === "") return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` };
}

/** Escapes Slack's three special characters: an id must not become a mention or a link. */
const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
