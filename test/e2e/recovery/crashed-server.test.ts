import { readFileSync } from "node:fs";
import { kill } from "node:process";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { FreshDatabase, Query } from "../../support/databases/fresh-database.ts";
import { someOf } from "../../support/long.ts";
import { startMariadb } from "../../support/mysql/embedded-mariadb.ts";
import { startPostgres } from "../../support/postgres/embedded-postgres.ts";
import type { EmbeddedServer } from "../../support/servers/embedded-server.ts";
import { aWorld, type ConfigChanges, type World } from "../world.ts";
import { ARGS, AT_ONCE, asking, expectHealed, untilRequests } from "./lost-commits.ts";

const TENANTS = 40;
/** A run takes a second. The next one waits that long for the calls of one that was killed. */
const SLOWLY: ConfigChanges = { ...AT_ONCE, service: { concurrency: 2, timeout: "1s" } };
const LATENCY = { min: 30, max: 60 };

interface Server {
  start(): Promise<EmbeddedServer>;
  /** The customer's database. */
  readonly database: string;
  /** From now on a commit waits for no disk, and what the server keeps in memory is lost with it. */
  readonly forget: string;
  /** The process whose SIGKILL takes the whole server's memory away. The server starts again by itself. */
  pid(query: Query): Promise<number>;
  /** False if groupsync has its own commits wait for the disk nevertheless. */
  readonly loses: boolean;
}

const DURABLE = { fsync: "on", synchronous_commit: "on", full_page_writes: "on" };

const SERVER: Server = {
  postgres: {
    start: () => startPostgres({ settings: { ...DURABLE, wal_writer_delay: "10s" } }),
    database: "postgres",
    forget: "ALTER DATABASE postgres SET synchronous_commit = off",
    // The postmaster then ends all other processes, and recovers from what is on the disk.
    async pid(query: Query) {
      const [row] = await query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
      return Number(row?.pid);
    },
    loses: false,
  },
  mysql: {
    // On a disk: MariaDB loses nothing of a log that lies in memory.
    start: () => startMariadb({ durable: true, settings: { debug_no_sync: "1", sync_frm: "0" } }),
    database: "customers",
    forget: "SET GLOBAL innodb_flush_log_at_timeout = 600; SET GLOBAL innodb_flush_log_at_trx_commit = 0",
    async pid(query: Query) {
      const [row] = await query("SELECT @@pid_file AS file");
      return Number(readFileSync(String(row?.file), "utf8"));
    },
    loses: true,
  },
}[inject("databaseKind")];

interface Forgetful {
  readonly world: World;
  crash(): Promise<void>;
}

/** A world in sync, on a server of its own that from now on commits asynchronously. */
async function aForgetfulWorld(command: keyof typeof ARGS): Promise<Forgetful> {
  const kind = inject("databaseKind");
  const server = await SERVER.start();
  onTestFinished(server.stop);
  const asRoot = asking(kind, server.url);
  if (kind === "mysql") await asRoot(`CREATE DATABASE ${SERVER.database}`);
  const url = Object.assign(new URL(server.url), { pathname: `/${SERVER.database}` }).href;
  const query = asking(kind, url);
  const database: FreshDatabase = { kind, name: SERVER.database, url, query };
  const world = await aWorld({
    database,
    tenants: TENANTS,
    service: { latency: LATENCY },
    config: AT_ONCE,
  });
  expect(await world.sync()).toMatchObject({ code: 0 });
  await world.configure(SLOWLY);
  if (command === "sync") await world.addTenants(TENANTS + 1, 2 * TENANTS);
  await world.forgetRequests();
  await asRoot(SERVER.forget);
  return {
    world,
    async crash() {
      kill(await SERVER.pid(query), "SIGKILL");
      const isBack = () => query("SELECT 1 AS one").catch(() => []);
      await expect.poll(isBack, { timeout: 30_000 }).toHaveLength(1);
    },
  };
}

const NOTHING_TO_DO = { code: 0, report: { requests: 0 } };

interface Case {
  readonly what: string;
  readonly command: keyof typeof ARGS;
  readonly groups: number;
}

const CASES: readonly Case[] = [
  { what: "a rotation", command: "rotate", groups: TENANTS },
  { what: "a backfill", command: "sync", groups: 2 * TENANTS },
];

describe.each(someOf(CASES))(
  "a server that commits asynchronously is killed during $what:",
  ({ command, groups }) => {
    test("the run says which groups are in doubt, and the next sync heals them", async () => {
      const { world, crash } = await aForgetfulWorld(command);
      const before = Object.values(await world.live());
      const run = world.start(...ARGS[command]);
      await untilRequests(world, TENANTS / 2, run);
      await crash();
      const { code, stdout } = await run.ended;
      const { errors } = JSON.parse(stdout);
      if (SERVER.loses) {
        expect({ code, errors }).toMatchObject({ code: 1, errors: [{ code: "LEDGER_REWOUND" }] });
        expect((await world.status()).groups.in_doubt).toBeGreaterThan(0);
      } else {
        expect(stdout).not.toContain("LEDGER_REWOUND");
      }
      await expectHealed(world, groups);
      // What was asked for stays due.
      const after = new Set(Object.values(await world.live()));
      expect(before.filter((token) => after.has(token))).toEqual(command === "sync" ? before : []);
    });

    test("if the process dies first, the next sync heals them, or sync --refresh if commits are lost", async () => {
      const { world, crash } = await aForgetfulWorld(command);
      const run = world.start(...ARGS[command]);
      await untilRequests(world, TENANTS / 2, run);
      const { stderr } = await run.stop("SIGKILL");
      await crash();
      expect(stderr.includes("COMMITS_AT_RISK")).toBe(SERVER.loses);
      // Nobody is left who knows of the rotation.
      if (SERVER.loses && command === "rotate") expect(await world.sync()).toMatchObject(NOTHING_TO_DO);
      await expectHealed(world, groups, ...(SERVER.loses ? ["--refresh"] : []));
    });
  },
);
