import { request } from "undici";
import { describe } from "../../core/errors.ts";
import { visible } from "../../core/printable.ts";
import type { Secret } from "../../core/secret.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Notifier } from "../../ports/notifier.ts";

export interface NotifyOptions {
  readonly webhook?: Secret;
  readonly heartbeat?: Secret;
}

/** For one attempt. */
const TIMEOUT = 5_000;
/** For an attempt that is under way when the daemon is told to stop, from then on. */
const LAST_MOMENT = 1_000;
/** Before each attempt: a change of state is told once, so a receiver that is away for a moment is asked again. */
const ATTEMPTS = [0, 1_000, 4_000];

/** A webhook that takes Slack's `{"text": "…"}`, and a monitor's address. What is left out is not told. */
export class HttpNotifier implements Notifier {
  readonly #options: NotifyOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #signal: AbortSignal;

  /** Once the signal aborts no further attempt is made, and one that is under way gets a moment more. */
  constructor(options: NotifyOptions, clock: Clock, log: Log, signal: AbortSignal) {
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
    this.#signal = signal;
  }

  async tell(message: string): Promise<void> {
    const body = JSON.stringify({ text: escaped(visible(message)) });
    const headers = { "content-type": "application/json" };
    await this.#send("notify.webhook", this.#options.webhook, { method: "POST", headers, body });
  }

  async beat(): Promise<void> {
    await this.#send("notify.heartbeat", this.#options.heartbeat, { method: "GET" });
  }

  /** The address is a secret, and an error of the client may hold it: neither is in what is logged. */
  async #send(key: string, url: Secret | undefined, options: Sent): Promise<void> {
    if (url === undefined) return;
    let problem = "";
    for (const waitMs of ATTEMPTS) {
      if (waitMs > 0 && !this.#signal.aborted) await this.#clock.sleep(waitMs, this.#signal);
      if (waitMs > 0 && this.#signal.aborted) break;
      const found = await this.#attempt(url, options);
      if (found === undefined) return;
      problem = found;
    }
    this.#log({
      level: "warn",
      code: "NOTIFY_FAILED",
      message: `${key} was not reached: ${problem}`,
      hint: "syncs go on all the same; check the address, and what is between here and there",
    });
  }

  async #attempt(url: Secret, options: Sent): Promise<string | undefined> {
    const ending = new AbortController();
    const end = async (): Promise<void> => {
      await this.#clock.sleep(LAST_MOMENT);
      ending.abort(new Error("no answer before the end"));
    };
    if (this.#signal.aborted) void end();
    this.#signal.addEventListener("abort", end, { once: true });
    try {
      return await attempt(url, options, ending.signal);
    } finally {
      this.#signal.removeEventListener("abort", end);
    }
  }
}

interface Sent {
  readonly method: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What went wrong; undefined where nothing did. */
async function attempt(url: Secret, options: Sent, ending: AbortSignal): Promise<string | undefined> {
  try {
    const { statusCode, body } = await request(url.reveal(), {
      ...options,
      headers: { ...options.headers, ...authorization(new URL(url.reveal())) },
      signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT), ending]),
    });
    await body.dump();
    return statusCode < 300 ? undefined : `HTTP ${statusCode}`;
  } catch (error) {
    return describe(error).replaceAll(url.reveal(), "…");
  }
}

/** What the client leaves in an address with user and password. */
function authorization({ username, password }: URL): Record<string, string> {
  if (username === "" && password === "") return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` };
}

/** Slack's three: an id must not become a mention or a link. */
const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
