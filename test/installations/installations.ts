import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { startMariadb } from "../support/mysql/embedded-mariadb.ts";
import { startGalera } from "../support/mysql/galera.ts";
import { mysqlServer } from "../support/mysql/mysql-server.ts";
import { startPostgres } from "../support/postgres/embedded-postgres.ts";
import { type PgbouncerOptions, startPgbouncer } from "../support/postgres/pgbouncer.ts";
import { startPgpool } from "../support/postgres/pgpool.ts";
import type { PostgresVersion } from "../support/postgres/postgres-binaries.ts";
import { startStandby } from "../support/postgres/standby.ts";
import type { EmbeddedServer } from "../support/servers/embedded-server.ts";
import { tcpProxy } from "../support/servers/tcp-proxy.ts";
import { at, type Installation, type Reach, type Running, STRAIGHT, started } from "./installation.ts";

/** Starts a server that the program reaches with nothing in between. */
const straight =
  (
    kind: Running["kind"],
    start: () => Promise<EmbeddedServer>,
    more: Partial<Running> = {},
  ): Installation["start"] =>
  async () => ({ kind, url: (await started(start())).url, instances: [STRAIGHT], ...more });

const postgres = (version: PostgresVersion): Installation => ({
  name: `PostgreSQL ${version}`,
  server: "PostgreSQL",
  through: "",
  start: straight("postgres", () => startPostgres({ version })),
});

const pgbouncer = (mode: PgbouncerOptions["mode"], poolSize: number): Installation => ({
  name: `PgBouncer, ${mode} mode, ${poolSize} ${poolSize === 1 ? "connection" : "connections"}`,
  server: "PostgreSQL",
  through: `PgBouncer in ${mode} mode; \`source.changes.url\` leads to the server itself`,
  variant: `a pool of ${poolSize}`,
  // In session mode, the daemon's connections have one each of the pooler's.
  ...(poolSize < (mode === "session" ? 3 : 2) && {
    refused: /✗ (connections|changes) .* connections at once and gets/,
  }),
  async start() {
    const { url } = await started(startPostgres());
    const pooler = await started(startPgbouncer(url, { mode, poolSize }));
    return {
      kind: "postgres",
      url,
      between: `PgBouncer ${versionIn(pooler.log, /(?<=PgBouncer )[\d.]+/)}`,
      instances: [through(pooler.url)],
    };
  },
});

const pgpool: Installation = {
  name: "pgpool without load balancing",
  server: "PostgreSQL",
  through:
    "pgpool-II without load balancing, over a primary and a hot standby; `source.changes.url` leads to the primary",
  async start() {
    const primary = await started(startPostgres());
    const standby = await started(startStandby(primary, "standby"));
    const options = { loadBalancing: false, standbys: [standby.url] };
    const pooler = await started(startPgpool(primary.url, options));
    return {
      kind: "postgres",
      url: primary.url,
      between: `pgpool-II ${versionIn(pooler.log, /(?<=version )[\d.]+/)}`,
      instances: [through(pooler.url)],
      // It logs in at both.
      settled: () => untilReplayed(primary.url, [standby.url]),
    };
  },
};

const hotStandby: Installation = {
  name: "a hot standby as source",
  server: "PostgreSQL",
  through: "a hot standby as the source; ledger and tokens on its primary",
  cannot: { channel: "a hot standby can't LISTEN" },
  async start() {
    const primary = await started(startPostgres());
    const standby = await started(startStandby(primary, "standby"));
    return {
      kind: "postgres",
      url: primary.url,
      instances: [{ source: at(standby.url), own: (url) => url }],
      settled: () => untilReplayed(primary.url, [standby.url]),
    };
  },
};

const failover: Installation = {
  name: "a primary with two replicas and a failover",
  server: "PostgreSQL",
  through:
    "one address in front of a primary, a synchronous and an asynchronous replica; a failover at the end",
  async start() {
    const primary = await started(startPostgres({ settings: { synchronous_commit: "on" } }));
    const sync = await started(startStandby(primary, "sync"));
    await started(startStandby(primary, "async"));
    await ask(primary.url, "ALTER SYSTEM SET synchronous_standby_names = 'sync'");
    await ask(primary.url, "SELECT pg_reload_conf()");
    const address = await tcpProxy(primary.url);
    const here = at(address.url);
    return {
      kind: "postgres",
      url: address.url,
      instances: [{ source: here, own: here }],
      async failOver() {
        await primary.stop();
        await ask(sync.url, "SELECT pg_promote()");
        address.redirect(sync.url);
      },
    };
  },
};

const encoded = (encoding: "LATIN1" | "SQL_ASCII"): Installation => ({
  name: `a source in ${encoding}`,
  server: "PostgreSQL",
  through: "a source in another encoding; ledger and tokens in a database in UTF8",
  variant: encoding,
  start: straight("postgres", startPostgres, {
    // ICU, which the server prefers, doesn't know every encoding.
    encoding: `ENCODING '${encoding}' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0`,
  }),
});

const germanPostgres: Installation = {
  name: "PostgreSQL with German messages",
  server: "PostgreSQL",
  through: "German messages",
  start: straight("postgres", () => startPostgres({ isGerman: true })),
};

/** Settings of the roles that groupsync logs in as, in sets of one subject. Somebody has each of them for other programs. */
const ROLE_SETTINGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "DateStyle German": { datestyle: "German, DMY" },
  "DateStyle SQL": { datestyle: "SQL, MDY" },
  "IntervalStyle sql_standard": { intervalstyle: "sql_standard" },
  "a time zone of half hours": { timezone: "America/St_Johns" },
  "bytea_output escape": { bytea_output: "escape" },
  "extra_float_digits -15": { extra_float_digits: "-15" },
  "idle_in_transaction_session_timeout 3 s": { idle_in_transaction_session_timeout: "3s" },
  "idle_session_timeout 3 s": { idle_session_timeout: "3s" },
  default_transaction_read_only: { default_transaction_read_only: "on" },
  "serializable transactions": { default_transaction_isolation: "serializable" },
  "short statement and lock timeouts": { statement_timeout: "5s", lock_timeout: "1s" },
  "transaction_timeout 10 s": { transaction_timeout: "10s" },
  "a search_path to nowhere": { search_path: "nowhere" },
  "strings of old": {
    standard_conforming_strings: "off",
    backslash_quote: "on",
    array_nulls: "off",
    transform_null_equals: "on",
  },
  "a planner without indexes and helpers": {
    enable_indexscan: "off",
    enable_bitmapscan: "off",
    enable_sort: "off",
    max_parallel_workers_per_gather: "0",
    plan_cache_mode: "force_generic_plan",
    work_mem: "64kB",
  },
  "client_encoding LATIN1": { client_encoding: "LATIN1" },
};

const withSettings = (name: string, roleSettings: Readonly<Record<string, string>>): Installation => ({
  name: `roles with ${name}`,
  server: "PostgreSQL",
  through: "roles with settings of their own",
  variant: name,
  start: straight("postgres", startPostgres, { roleSettings }),
});

const NO_CHANNELS = "MySQL and MariaDB have no channels";

const mariadb: Installation = {
  name: "MariaDB",
  server: "MariaDB",
  through: "",
  cannot: { channel: NO_CHANNELS },
  start: straight("mysql", startMariadb),
};

const germanMariadb: Installation = {
  name: "MariaDB with German messages",
  server: "MariaDB",
  through: "German messages",
  cannot: { channel: NO_CHANNELS },
  start: straight("mysql", () =>
    startMariadb({ settings: { lc_messages: "de_DE" }, readyWhen: "bereit für Verbindungen" }),
  ),
};

/** Makes "localhost" another address in each instance: see the file. */
const LOOKUP = fileURLToPath(new URL("localhost.cjs", import.meta.url));
const named = (url: string): string => Object.assign(new URL(url), { hostname: "localhost" }).href;

const galera: Installation = {
  name: "Galera with two nodes",
  server: "MariaDB",
  through: "Galera with two nodes, and an instance of groupsync on each",
  cannot: { channel: NO_CHANNELS },
  async start() {
    const { urls, version } = await started(startGalera());
    const on = (url: string): Reach => ({
      source: named,
      own: named,
      env: { NODE_OPTIONS: `--require ${LOOKUP}`, LOCALHOST: new URL(url).hostname },
    });
    return {
      kind: "mysql",
      url: urls[0],
      between: `Galera ${version}`,
      instances: [on(urls[0]), on(urls[1])],
      settled: async () => {
        for (const url of urls) {
          const { query, end } = mysqlServer.connect(url);
          await query("SET SESSION wsrep_sync_wait = 1; SELECT 1").finally(end);
        }
      },
    };
  },
};

/** One starts only if the environment names a server: none is on a registry. */
const mysql: Installation = {
  name: "MySQL",
  server: "MySQL",
  through: "",
  cannot: { channel: NO_CHANNELS },
  async start(skip) {
    const url = process.env.GROUPSYNC_TEST_MYSQL_URL;
    if (!url) return skip("GROUPSYNC_TEST_MYSQL_URL names no MySQL");
    const { query, end } = mysqlServer.connect(url);
    const [row] = await query("SELECT version() AS version").finally(end);
    if (/mariadb/i.test(String(row?.version))) return skip("GROUPSYNC_TEST_MYSQL_URL names a MariaDB");
    return { kind: "mysql", url, instances: [STRAIGHT] };
  },
};

export const INSTALLATIONS: readonly Installation[] = [
  ...([13, 14, 15, 16, 17, 18] as const).map(postgres),
  pgbouncer("transaction", 1),
  pgbouncer("transaction", 2),
  pgbouncer("transaction", 3),
  pgbouncer("session", 1),
  pgbouncer("session", 2),
  pgbouncer("session", 3),
  pgpool,
  hotStandby,
  failover,
  encoded("LATIN1"),
  encoded("SQL_ASCII"),
  germanPostgres,
  ...Object.entries(ROLE_SETTINGS).map(([name, settings]) => withSettings(name, settings)),
  mariadb,
  germanMariadb,
  galera,
  mysql,
];

/** By way of a pooler, and straight to the server where a session is needed. */
const through = (pooler: string): Reach => ({ source: at(pooler), own: at(pooler), changes: (url) => url });

const versionIn = (log: readonly string[], pattern: RegExp): string =>
  pattern.exec(log.join("\n"))?.[0] ?? "";

async function ask(url: string, statement: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

/** Resolves once these standbys show what the primary has committed. */
async function untilReplayed(primary: string, standbys: readonly string[]): Promise<void> {
  const [row] = await ask(primary, "SELECT pg_current_wal_insert_lsn() AS lsn");
  for (const standby of standbys) {
    const isReplayed = `SELECT pg_last_wal_replay_lsn() >= '${row?.lsn}' AS is`;
    while ((await ask(standby, isReplayed))[0]?.is !== true) await sleep(20);
  }
}
