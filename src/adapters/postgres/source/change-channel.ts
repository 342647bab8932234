import pg from "pg";
import { SyncError } from "../../../core/failure/sync-error.ts";
import { MAX_ID_BYTES } from "../../../core/group/tenant.ts";
import type { Secret } from "../../../core/secret/secret.ts";
import type { ChangeChannel, OpenChannel } from "../../../ports/change-feed.ts";
import { databaseError } from "../../sql/connection/failures.ts";
import { NoAnswer, withinLimits } from "../../sql/connection/wait-limits.ts";
import { connectionOptions, endInTime } from "../connection/connection.ts";
import { failures } from "../connection/failures.ts";
import { quoteName } from "../connection/identifiers.ts";
import { textOrBytes } from "../connection/settings.ts";

interface ChannelOptions {
  readonly url: Secret;
  readonly applicationName: string;
  readonly channel: string;
  /** How long each answer may take, and how long a notification may be on its way, in milliseconds. */
  readonly limitMs: number;
}

/** Listens with LISTEN, on a connection that does nothing else. */
export const postgresChangeChannel = (options: ChannelOptions): ChangeChannel => ({
  async open(onPayload, stop) {
    const channel = new PostgresOpenChannel(options, onPayload, stop);
    try {
      await channel.listen();
    } catch (error) {
      await channel.close();
      throw cannotListen(options.channel, error);
    }
    return channel;
  },
});

class PostgresOpenChannel implements OpenChannel {
  readonly lost: Promise<SyncError>;
  readonly #client: pg.Client;
  readonly #options: ChannelOptions;
  readonly #stop: AbortSignal;
  #onProbe = ignore;

  constructor(options: ChannelOptions, onPayload: (payload: string) => void, stop: AbortSignal) {
    this.#options = options;
    this.#stop = stop;
    const client = this.#newClient();
    this.#client = client;
    this.lost = new Promise((resolve) => {
      client.on("error", (error) => resolve(cannotListen(options.channel, error)));
      client.on("end", () => resolve(cannotListen(options.channel, new Error("the connection was closed"))));
    });
    client.on("notification", ({ channel, payload = "" }) => {
      if (channel !== options.channel) return;
      if (payload.startsWith(PROBE)) this.#onProbe();
      else onPayload(payload);
    });
  }

  async listen(): Promise<void> {
    const client = this.#client;
    await this.#inTime(client.connect());
    const { rows } = await this.#inTime(
      client.query<{ pid: number }>("SELECT pg_catalog.pg_backend_pid() AS pid"),
    );
    // A pooler has session ids of its own. LISTEN would stay behind in a session that it gives to other clients.
    if (rows[0]?.pid !== Reflect.get(client, "processID")) throw notReceived();
    const listen = `LISTEN ${quoteName(this.#options.channel)}`;
    await this.#inTime(client.query(`SELECT ${textOrBytes("end of session")}; ${listen}`));
    await this.#insistOnArrival();
  }

  async probe(): Promise<void> {
    try {
      await this.#inTime(this.#client.query("SELECT 1"));
      await this.#insistOnArrival();
    } catch (error) {
      throw cannotListen(this.#options.channel, error);
    }
  }

  /** A notification over the connection that listens would come back on it in any case, and prove nothing. */
  async #insistOnArrival(): Promise<void> {
    const arrives = new Promise<void>((resolve) => {
      this.#onProbe = resolve;
    });
    const second = this.#newClient();
    second.on("error", ignore);
    try {
      await this.#inTime(second.connect());
      const notify = "SELECT pg_catalog.pg_notify($1::pg_catalog.text, $2::pg_catalog.text)";
      await this.#inTime(second.query(notify, [this.#options.channel, PROBE.padEnd(MAX_ID_BYTES + 1, ".")]));
    } finally {
      await endInTime(second);
    }
    const isLost = this.lost.then((error) => {
      throw error;
    });
    await this.#inTime(Promise.race([arrives, isLost])).catch((error: unknown) => {
      throw error instanceof NoAnswer ? notReceived() : error;
    });
  }

  close(): Promise<void> {
    return endInTime(this.#client);
  }

  #newClient(): pg.Client {
    return new pg.Client(connectionOptions(this.#options.url, this.#options.applicationName));
  }

  #inTime<T>(work: Promise<T>): Promise<T> {
    const limits = { answerMs: this.#options.limitMs, afterStopMs: 0, isRead: true };
    return withinLimits(this.#stop, work, limits);
  }
}

function ignore(): void {}

/**
 * How the payload begins by which an instance of groupsync tries whether notifications arrive. Other instances that listen
 * ignore it, and it is padded to be longer than any id.
 */
const PROBE = "groupsync tries whether notifications arrive; this is no id: ";

const notReceived = (): SyncError =>
  new SyncError("CHANGES_NOT_HEARD", "no notification arrives on source.changes.channel", {
    hint: "groupsync listens through no pooler: write the url of the database itself in source.changes.url",
  });

/** A standby server has no LISTEN: it answers with "cannot execute LISTEN during recovery". */
const READ_ONLY = "25006";

function cannotListen(channel: string, error: unknown): SyncError {
  const hintFor = (cause: unknown): string | undefined =>
    cause instanceof Error && "code" in cause && cause.code === READ_ONLY
      ? "only the primary server passes notifications on: write its url in source.changes.url"
      : failures.hintFor(cause);
  return databaseError({ hintFor }, "SOURCE_UNAVAILABLE", `cannot listen on ${channel}`, error);
}
