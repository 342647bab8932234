import pg from "pg";
import type { SyncError } from "../../../core/failure/sync-error.ts";
import type { Secret } from "../../../core/secret/secret.ts";
import type { ChangeChannel, OpenChannel } from "../../../ports/change-feed.ts";
import { databaseError } from "../../sql/connection/failures.ts";
import { type WaitLimits, withinLimits } from "../../sql/connection/wait-limits.ts";
import { connectionOptions } from "../connection/connection.ts";
import { failures } from "../connection/failures.ts";
import { quoteName } from "../connection/identifiers.ts";
import { textOrBytes } from "../connection/one-round-trip.ts";
import { endInTime } from "../connection/watched-session.ts";
import { isOwnNotification, ownNotification } from "./own-notification.ts";

export interface ChannelOptions {
  readonly url: Secret;
  readonly applicationName: string;
  readonly channel: string;
}

/** How long the server may take to begin to listen, in milliseconds. */
const LISTEN_LIMIT = 10_000;

const atMost = (answerMs: number): WaitLimits => ({ answerMs, afterStopMs: 0, isRead: true });

/** Listens with LISTEN, on a connection that does nothing else. */
export class PostgresChangeChannel implements ChangeChannel {
  readonly #options: ChannelOptions;

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  async open(hear: (payload: string) => void, stop: AbortSignal): Promise<OpenChannel> {
    const { url, applicationName, channel } = this.#options;
    const explain = (error: unknown): SyncError => cannotListen(channel, error);
    let line: Line | undefined;
    try {
      line = new Line(new pg.Client(connectionOptions(url, applicationName)), {
        channel,
        hear,
        stop,
        explain,
      });
      await line.listen();
      return line;
    } catch (error) {
      await line?.close();
      throw explain(error);
    }
  }
}

interface LineParts {
  readonly channel: string;
  readonly hear: (payload: string) => void;
  readonly stop: AbortSignal;
  readonly explain: (error: unknown) => SyncError;
}

class Line implements OpenChannel {
  readonly lost: Promise<SyncError>;
  readonly #client: pg.Client;
  readonly #parts: LineParts;
  /** Resolves when the own notification with this payload arrives. */
  #awaited: { readonly payload: string; readonly arrived: () => void } | undefined;

  constructor(client: pg.Client, parts: LineParts) {
    this.#client = client;
    this.#parts = parts;
    this.lost = new Promise((resolve) => {
      client.on("error", (error) => resolve(parts.explain(error)));
      client.on("end", () => resolve(parts.explain(new Error("the connection was closed"))));
    });
    client.on("notification", ({ channel, payload = "" }) => {
      if (channel === parts.channel) this.#hear(payload);
    });
  }

  async listen(): Promise<void> {
    const { channel, stop } = this.#parts;
    await withinLimits(stop, this.#client.connect(), atMost(LISTEN_LIMIT));
    const listening = this.#client.query(
      `SELECT ${textOrBytes("end of session")}; LISTEN ${quoteName(channel)}`,
    );
    await withinLimits(stop, listening, atMost(LISTEN_LIMIT));
  }

  async hearsItself(ms: number): Promise<boolean> {
    const { channel, stop, explain } = this.#parts;
    const payload = ownNotification();
    const arrives = new Promise<boolean>((resolve) => {
      this.#awaited = { payload, arrived: () => resolve(true) };
    });
    const notify = this.#client.query(
      "SELECT pg_catalog.pg_notify($1::pg_catalog.text, $2::pg_catalog.text)",
      [channel, payload],
    );
    try {
      await withinLimits(stop, notify, atMost(ms));
    } catch (error) {
      throw explain(error);
    }
    const isLost = this.lost.then((error) => {
      throw error;
    });
    const timer = new AbortController();
    try {
      return await Promise.race([arrives, isLost, isOver(ms, timer.signal, stop)]);
    } finally {
      timer.abort();
      this.#awaited = undefined;
    }
  }

  close(): Promise<void> {
    return endInTime(this.#client);
  }

  #hear(payload: string): void {
    if (payload === this.#awaited?.payload) this.#awaited.arrived();
    else if (!isOwnNotification(payload)) this.#parts.hear(payload);
  }
}

/** Resolves to false after `ms`, or when `stop` aborts. */
function isOver(ms: number, cleared: AbortSignal, stop: AbortSignal): Promise<false> {
  return new Promise((resolve) => {
    const over = (): void => resolve(false);
    const timer = setTimeout(over, ms);
    stop.addEventListener("abort", over);
    cleared.addEventListener("abort", () => {
      clearTimeout(timer);
      stop.removeEventListener("abort", over);
    });
  });
}

/** A standby server has no LISTEN: it answers with "cannot execute LISTEN during recovery". */
const READ_ONLY = "25006";

function cannotListen(channel: string, error: unknown): SyncError {
  const hintFor = (cause: unknown): string | undefined =>
    cause instanceof Error && "code" in cause && cause.code === READ_ONLY
      ? "only the primary server passes notifications on: write its url in source.changes.url"
      : failures.hintFor(cause);
  return databaseError({ hintFor }, "SOURCE_UNAVAILABLE", `cannot listen on ${channel}`, error);
}
