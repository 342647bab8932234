import { randomUUID } from "node:crypto";
import pg from "pg";
import { CHANGES_NOT_HEARD } from "../../../core/changes/notice.ts";
import { SyncError } from "../../../core/failure/sync-error.ts";
import { MAX_ID_BYTES } from "../../../core/group/tenant.ts";
import type { Secret } from "../../../core/secret/secret.ts";
import type { ChangeChannel, OpenChannel } from "../../../ports/change-feed.ts";
import { databaseError } from "../../sql/connection/failures.ts";
import { withinLimits } from "../../sql/connection/wait-limits.ts";
import { allInTime, connectionOptions, endInTime } from "../connection/connection.ts";
import { failures } from "../connection/failures.ts";
import { quoteName } from "../connection/identifiers.ts";
import { textOrBytes } from "../connection/settings.ts";

/** Identifies the server's session: a pooler in between has ids of its own, and a load balancer leads to several servers. */
const WHO_AM_I = `SELECT pg_catalog.pg_backend_pid() AS pid,
  extract(epoch FROM pg_catalog.pg_postmaster_start_time())::pg_catalog.text AS server`;

interface ChannelOptions {
  readonly url: Secret;
  readonly applicationName: string;
  readonly channel: string;
  /** How long each answer may take, and how long a notification may be on its way, in milliseconds. */
  readonly limitMs: number;
}

/** Listens with LISTEN, on a connection that does nothing else. */
export class PostgresChangeChannel implements ChangeChannel {
  readonly #options: ChannelOptions;

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  async open(hear: (payload: string) => void, stop: AbortSignal): Promise<OpenChannel> {
    const { channel } = this.#options;
    const explain = (error: unknown): SyncError => cannotListen(channel, error);
    let line: Line | undefined;
    try {
      line = new Line({ ...this.#options, hear, stop, explain });
      await line.listen();
      return line;
    } catch (error) {
      await line?.close();
      throw explain(error);
    }
  }
}

interface LineParts extends ChannelOptions {
  readonly hear: (payload: string) => void;
  readonly stop: AbortSignal;
  readonly explain: (error: unknown) => SyncError;
}

class Line implements OpenChannel {
  readonly lost: Promise<SyncError>;
  readonly #client: pg.Client;
  readonly #parts: LineParts;
  #backend = "";
  #mayListen = false;
  /** Resolves when the own notification with this payload arrives. */
  #awaited: { readonly payload: string; readonly arrived: () => void } | undefined;

  constructor(parts: LineParts) {
    this.#parts = parts;
    const client = this.#newClient();
    this.#client = client;
    this.lost = new Promise((resolve) => {
      client.on("error", (error) => resolve(parts.explain(error)));
      client.on("end", () => resolve(parts.explain(new Error("the connection was closed"))));
    });
    client.on("notification", ({ channel, payload = "" }) => {
      if (channel === parts.channel) this.#hear(payload);
    });
  }

  async listen(): Promise<void> {
    await this.#inTime(this.#client.connect());
    this.#backend = await this.#backendOf(this.#client);
    await this.#insistOnBackend();
    await this.#onSecondConnection(async (second) => {
      await this.#listenBeside(second);
      await this.#insistOnArrival(second);
    });
  }

  /**
   * A pooler in transaction mode gives each transaction another session of the server. There a LISTEN would stay behind
   * in a session that serves other clients. So LISTEN is not sent if another connection gets this one's session, and is
   * rolled back if this connection gets another session.
   */
  async #listenBeside(second: pg.Client): Promise<void> {
    const begin = `BEGIN; SELECT ${textOrBytes("end of session")}; LISTEN ${quoteName(this.#parts.channel)}`;
    try {
      if ((await this.#backendOf(second, "BEGIN")) === this.#backend) throw notHeard();
      this.#mayListen = (await this.#backendOf(this.#client, begin)) === this.#backend;
      await this.#inTime(this.#client.query(this.#mayListen ? "COMMIT" : "ROLLBACK"));
      if (!this.#mayListen) throw notHeard();
    } finally {
      await this.#inTime(second.query("COMMIT"));
    }
  }

  async probe(): Promise<void> {
    try {
      await this.#insistOnBackend();
      await this.#onSecondConnection((second) => this.#insistOnArrival(second));
    } catch (error) {
      throw this.#parts.explain(error);
    }
  }

  async #insistOnBackend(): Promise<void> {
    if ((await this.#backendOf(this.#client)) !== this.#backend) throw notHeard();
  }

  /** A notification over the connection that listens would come back on it even through a pooler, and prove nothing. */
  async #insistOnArrival(second: pg.Client): Promise<void> {
    const { channel, stop, limitMs } = this.#parts;
    const payload = ownNotification();
    const arrives = new Promise<boolean>((resolve) => {
      this.#awaited = { payload, arrived: () => resolve(true) };
    });
    const notify = "SELECT pg_catalog.pg_notify($1::pg_catalog.text, $2::pg_catalog.text)";
    const timer = new AbortController();
    try {
      await this.#inTime(second.query(notify, [channel, payload]));
      const isLost = this.lost.then((error) => {
        throw error;
      });
      if (!(await Promise.race([arrives, isLost, isOver(limitMs, timer.signal, stop)]))) throw notHeard();
    } finally {
      timer.abort();
      this.#awaited = undefined;
    }
  }

  async close(): Promise<void> {
    const client = this.#client;
    // A pooler may keep the session and give it to another client.
    const quiet = this.#mayListen ? client.query(`UNLISTEN ${quoteName(this.#parts.channel)}`) : undefined;
    await allInTime(
      Promise.resolve(quiet)
        .catch(ignore)
        .then(() => client.end()),
      [client],
    );
  }

  #newClient(): pg.Client {
    return new pg.Client(connectionOptions(this.#parts.url, this.#parts.applicationName));
  }

  async #onSecondConnection(body: (client: pg.Client) => Promise<void>): Promise<void> {
    const client = this.#newClient();
    client.on("error", ignore);
    try {
      await this.#inTime(client.connect());
      await body(client);
    } finally {
      await endInTime(client);
    }
  }

  /** Names the server's session that answers. `before` are statements that it runs first. */
  async #backendOf(client: pg.Client, ...before: string[]): Promise<string> {
    const answers: unknown = await this.#inTime(client.query([...before, WHO_AM_I].join("; ")));
    const [row] = ([answers].flat() as pg.QueryResult[]).at(-1)?.rows ?? [];
    return JSON.stringify(row);
  }

  #inTime<T>(work: Promise<T>): Promise<T> {
    const { stop, limitMs } = this.#parts;
    return withinLimits(stop, work, { answerMs: limitMs, afterStopMs: 0, isRead: true });
  }

  #hear(payload: string): void {
    if (payload === this.#awaited?.payload) this.#awaited.arrived();
    else if (!isOwnNotification(payload)) this.#parts.hear(payload);
  }
}

function ignore(): void {}

const notHeard = (): SyncError => {
  const { code, message, hint } = CHANGES_NOT_HEARD;
  return new SyncError(code, message, { hint });
};

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

/** Also recognised by other instances of groupsync that listen on the same channel. */
const BEGINNING = "groupsync tries whether notifications arrive; this is no id: ";

/** A payload that is no id, because it is longer than any. */
const ownNotification = (): string => `${BEGINNING}${randomUUID()} `.padEnd(MAX_ID_BYTES + 1, ".");

const isOwnNotification = (payload: string): boolean =>
  payload.startsWith(BEGINNING) && payload.length > MAX_ID_BYTES;
