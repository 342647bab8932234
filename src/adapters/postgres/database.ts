import pg from "pg";
import { type Connections, type InTransaction, retryDeadlocks } from "../sql/connection/connections.ts";
import type { SessionWaits } from "../sql/connection/session-waits.ts";
import {
  LONG_READ,
  ofPool,
  SHORT_READ,
  STEP,
  type WaitLimits,
  WRITE,
} from "../sql/connection/wait-limits.ts";
import type { Database, DatabaseOptions } from "../sql/dialect/database.ts";
import { allInTime, Client, connectionOptions } from "./connection/connection.ts";
import { DURABLY } from "./connection/durability.ts";
import { inOneRoundTrip, reading, writing } from "./connection/one-round-trip.ts";
import { readCursor, sessionWaits } from "./connection/session.ts";
import { BEGIN, PIN, PINNED_PATH, setLocally, UNHURRIED } from "./connection/settings.ts";
import { postgres } from "./dialect.ts";

/** No setting: statements on the customer's tables keep the role's search_path. */
const OWN_PATH = {} as const;

export class PostgresDatabase implements Database {
  readonly dialect = postgres;
  readonly byRolesPath: Connections["byRolesPath"] = {
    query: (text, values) => this.#answer(SHORT_READ, reading, OWN_PATH, text, values),
    write: (text, values) => this.#answer(WRITE, writing, OWN_PATH, text, values),
    stream: (begin, ...query) => this.#stream(begin, ...query),
  };
  readonly #options: DatabaseOptions;
  readonly #pool: pg.Pool;
  readonly #open = new Set<pg.PoolClient>();
  readonly #busy = new Set<SessionWaits>();

  constructor(options: DatabaseOptions) {
    const { url, applicationName, maxConnections } = options;
    this.#options = options;
    this.#pool = new pg.Pool({
      ...connectionOptions(url, applicationName),
      max: maxConnections,
      Client,
      onConnect: (client) => (client as Client).insistOnVersion(),
    });
    // The pool replaces an idle connection that breaks. If that fails, the next statement rejects.
    this.#pool.on("error", ignore);
    this.#pool.on("connect", (client) => {
      client.on("error", ignore);
      this.#open.add(client);
    });
    this.#pool.on("remove", (client) => this.#open.delete(client as pg.PoolClient));
  }

  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    return this.#answer(SHORT_READ, reading, PINNED_PATH, text, values);
  }

  write<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    return this.#answer(WRITE, writing, PINNED_PATH, text, values);
  }

  async change(text: string, values?: readonly unknown[]): Promise<number> {
    const changed = await this.transaction(DURABLY, ({ query }) => query(`${text} RETURNING 1`, values));
    return changed.length;
  }

  transaction<T>(
    begin: readonly string[],
    body: (connection: InTransaction, begun: readonly object[]) => Promise<T>,
    limits: WaitLimits = WRITE,
  ): Promise<T> {
    return retryDeadlocks(postgres, (isLast) => this.#transaction(begin, body, limits, isLast));
  }

  stream<Row extends readonly unknown[]>(
    [begin = BEGIN, ...others]: readonly string[],
    text: string,
    values: readonly unknown[],
    size: number,
  ): AsyncGenerator<Row[]> {
    return this.#stream([begin, PIN, ...others], text, values, size);
  }

  async *#stream<Row extends readonly unknown[]>(
    [begin = BEGIN, ...others]: readonly string[],
    text: string,
    values: readonly unknown[],
    size: number,
  ): AsyncGenerator<Row[]> {
    const client = await this.#connect(LONG_READ);
    const session = this.#attend(client);
    const settings = setLocally({ ...UNHURRIED, ...this.#lockTimeout(LONG_READ) });
    let broken = true;
    try {
      await session.wait(() => client.query([begin, settings, ...others].join("; ")), STEP);
      yield* session.each(readCursor<Row>(client, text, values, { rowMode: "array" }, size));
      await session.wait(() => client.query("COMMIT"), STEP);
      broken = false;
    } finally {
      // Runs even if the reader stops early: the transaction must not stay open.
      this.#release(client, session, broken);
    }
  }

  async close(): Promise<void> {
    if (this.#pool.ended || this.#pool.ending) return;
    for (const session of this.#busy) session.cut();
    await allInTime(this.#pool.end(), this.#open);
  }

  /** Runs `body` in a transaction. All statements of `begin` go to the server in one round trip. */
  #transaction<T>(
    [first = BEGIN, ...others]: readonly string[],
    body: (connection: InTransaction, begun: readonly object[]) => Promise<T>,
    limits: WaitLimits,
    isLastAttempt: boolean,
  ): Promise<T> {
    const settings = setLocally({
      idle_in_transaction_session_timeout: String(this.#options.idleMs),
      ...this.#lockTimeout(limits),
    });
    return this.#use(limits, async (client, wait) => {
      const ask = <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
        wait(() => client.query<Row>(text, [...values]));
      const query: InTransaction["query"] = async <Row extends object>(
        text: string,
        values?: readonly unknown[],
      ) => (await ask<Row & pg.QueryResultRow>(text, values)).rows;
      const begun = await ask([first, settings, PIN, ...others].join("; "));
      const rows = resultsOf(begun).at(-1)?.rows ?? [];
      const result = await body({ query, isLastAttempt }, rows);
      await query("COMMIT");
      return result;
    });
  }

  /** Runs one statement in a transaction of its own, which `opened` opens. */
  #answer<Row extends object>(
    limits: WaitLimits,
    opened: typeof reading | typeof writing,
    settings: Readonly<Record<string, string>>,
    text: string,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    const transaction = opened(setLocally({ ...settings, ...this.#lockTimeout(limits) }));
    return this.#use(limits, async (client, wait) => {
      const query = { text, values: [...values] };
      const { rows } = await wait(() => inOneRoundTrip<Row>(client, transaction, query));
      return rows;
    });
  }

  #lockTimeout({ lockMs = this.#options.timeouts.lockMs }: WaitLimits): Readonly<Record<string, string>> {
    return { lock_timeout: String(lockMs) };
  }

  /** Runs `body` on a connection of the pool. `wait` waits for the server's answer no longer than the limits allow. */
  async #use<T>(
    limits: WaitLimits,
    body: (client: pg.ClientBase, wait: <A>(ask: () => Promise<A>) => Promise<A>) => Promise<T>,
  ): Promise<T> {
    const client = await this.#connect(limits);
    const session = this.#attend(client);
    let broken = true;
    try {
      const result = await body(client, (ask) => session.wait(ask, limits));
      broken = false;
      return result;
    } finally {
      // Close a broken connection instead of sending ROLLBACK: that works even if the server no longer answers.
      this.#release(client, session, broken);
    }
  }

  #connect(limits: WaitLimits): Promise<pg.PoolClient> {
    return ofPool(this.#options.stop, this.#pool.connect(), limits);
  }

  #attend(client: pg.PoolClient): SessionWaits {
    const session = sessionWaits(client, this.#options);
    this.#busy.add(session);
    return session;
  }

  #release(client: pg.PoolClient, session: SessionWaits, broken: boolean): void {
    this.#busy.delete(session);
    client.release(broken);
  }
}

/** For several statements in one text the driver returns a list of results, though its types say otherwise. */
const resultsOf = <Row extends object>(results: unknown): pg.QueryResult<Row>[] =>
  [results as pg.QueryResult<Row>].flat();

function ignore(): void {}
