import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { inject, onTestFinished } from "vitest";
import { mysqlServer } from "../mysql/mysql-server.ts";
import { postgresServer } from "../postgres/postgres-server.ts";
import {
  type Connections,
  type DatabaseKind,
  type Query,
  SERVER_VARIABLES,
  type ServerKind,
  type Session,
  serverUrl,
} from "./database-server.ts";

export type { DatabaseKind, Query, Row } from "./database-server.ts";

export interface Place {
  readonly kind: DatabaseKind;
  readonly name: string;
  /** Its owner's url, password included. */
  readonly url: string;
}

/** A database, and the tests' own connection to it. */
export interface OpenPlace extends Place {
  readonly own: Connections;
}

export interface FreshDatabase extends Place {
  /**
   * Runs SQL over a connection of its own and returns the rows. Placeholders are `$1`, and values come as pg
   * gives them: bigints and decimals as text, booleans as such. On MySQL a VARBINARY comes as the UTF-8 text
   * in it, and the session takes "names" in double quotes, || and UTC for granted.
   */
  readonly query: Query;
}

export const SERVERS: Readonly<Record<DatabaseKind, ServerKind>> = {
  postgres: postgresServer,
  mysql: mysqlServer,
};

/** How long a closed connection may take to vanish from the server's list, in milliseconds. */
const GRACE = 2_000;
/** Of each kind of database, for each way to make one. */
const MOST_SPARES = 4;

/**
 * Databases that tests of this process have left. To make a database and to connect to it takes longer than most tests: on
 * the server that the run has started, the next test gets the database of one that has passed, and its connection.
 */
export class SpareDatabases<Spare extends OpenPlace> {
  readonly #make: (place: OpenPlace) => Promise<Spare>;
  readonly #renew: (spare: Spare) => Promise<boolean>;
  readonly #spares: Spare[] = [];

  /** `renew` removes what a test has left, and says whether the database is as `make` makes it again. */
  constructor(make: (place: OpenPlace) => Promise<Spare>, renew: (spare: Spare) => Promise<boolean>) {
    this.#make = make;
    this.#renew = renew;
  }

  /** A database for the running test. */
  async take(kind: DatabaseKind): Promise<FreshDatabase> {
    const spare = await this.#renewed(kind);
    if (spare) return openDatabase(spare, () => this.#keep(spare));
    const place = newPlace(kind);
    let made: Spare | undefined;
    const database = openDatabase(place, () => (made ? this.#keep(made) : removeDatabase(place)));
    made = await this.#make(place);
    return database;
  }

  async #renewed(kind: DatabaseKind): Promise<Spare | undefined> {
    const index = this.#spares.findIndex((spare) => spare.kind === kind);
    const [spare] = index === -1 ? [] : this.#spares.splice(index, 1);
    if (spare === undefined) return undefined;
    // What a test has left may be more than `renew` can remove.
    const isRenewed = await spare.own
      .reset()
      .then(() => this.#renew(spare))
      .catch(() => false);
    if (isRenewed) return spare;
    await removeDatabase(spare);
    return undefined;
  }

  async #keep(spare: Spare): Promise<void> {
    const isFull = this.#spares.filter(({ kind }) => kind === spare.kind).length === MOST_SPARES;
    if (isFull || process.env[SERVER_VARIABLES[spare.kind]]) await removeDatabase(spare);
    else this.#spares.push(spare);
  }
}

const empty = new SpareDatabases(
  async (place) => {
    await createDatabase(place);
    return place;
  },
  async ({ kind, name, own }) => {
    await SERVERS[kind].empty(own.query, name);
    return true;
  },
);

/**
 * Makes an empty database for the running test, by default on the vitest project's kind of server. Skips the test if the run
 * has no such server. After the test the database is dropped, or emptied for another test; if the test failed, the database
 * is kept and its name printed. A connection that is still open then fails the test. Each call in a test makes another
 * database.
 */
export const freshDatabase = (kind = inject("databaseKind")): Promise<FreshDatabase> => empty.take(kind);

/** A database that is not there yet. */
export function newPlace(kind: DatabaseKind): OpenPlace {
  const name = `groupsync_test_${randomBytes(6).toString("hex")}`;
  const url = new URL(serverUrl(kind));
  url.pathname = `/${name}`;
  return { kind, name, url: url.href, own: SERVERS[kind].connect(url.href) };
}

/** A database for the running test. `whenPassed` is called if the test passes and leaves no connection open. */
export function openDatabase(
  { kind, name, url, own }: OpenPlace,
  whenPassed: () => Promise<void>,
): FreshDatabase {
  onTestFinished(async ({ task }) => {
    const passed = task.result?.state !== "fail";
    const left = passed ? await sessionsLeft(kind, name, GRACE, own.query) : [];
    if (passed && left.length === 0) return whenPassed();
    await own.end();
    console.error(
      `Kept the database ${name}. To find it after the run, name your own server in ${SERVER_VARIABLES[kind]}.`,
    );
    if (left.length > 0) throw new Error(leakMessage(left));
  });
  return { kind, name, url, query: own.query };
}

export const createDatabase = ({ kind, name }: Place): Promise<void> =>
  withServer(kind, (query) => SERVERS[kind].create(query, name));

export async function removeDatabase({ kind, name, own }: OpenPlace): Promise<void> {
  await own.end();
  await withServer(kind, (query) => SERVERS[kind].remove(query, name));
}

/** The other sessions in a database once those that are just closing have had their time. */
export async function sessionsLeft(
  kind: DatabaseKind,
  database: string,
  grace: number,
  query: Query,
): Promise<Session[]> {
  const deadline = Date.now() + grace;
  while (true) {
    const sessions = await SERVERS[kind].sessionsIn(query, database);
    if (sessions.length === 0 || Date.now() >= deadline) return sessions;
    await sleep(20);
  }
}

function leakMessage(sessions: readonly Session[]): string {
  const lines = sessions.map(({ client, state, query }) => `  ${client}, ${state}: ${query}`);
  return [`${sessions.length} connection(s) were left open when the test was over:`, ...lines].join("\n");
}

/** One for all test files that a process runs. It ends with the process. */
const servers = new Map<DatabaseKind, Connections>();

/** Runs SQL as the account that owns the run's server, in no database of a test. */
export async function withServer<T>(kind: DatabaseKind, use: (query: Query) => Promise<T>): Promise<T> {
  const server = servers.get(kind) ?? SERVERS[kind].connect(serverUrl(kind));
  servers.set(kind, server);
  return await use(server.query);
}
