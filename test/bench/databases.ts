import { type ExecFileSyncOptions, execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import mysql from "mysql2/promise";
import pg from "pg";
import { startMariadb } from "../support/embedded-mariadb.ts";
import { startPostgres } from "../support/embedded-postgres.ts";
import { createCustomers } from "./customers.ts";

/** A database of a benchmark's own, durable as in production. */
export interface BenchDatabase {
  readonly name: string;
  readonly url: string;
  /** A fresh customers table of `count` tenants, and no trace of an earlier sync. */
  createCustomers(count: number): Promise<void>;
  /** Leaves the ledger as tidy as the server would in time. */
  tidy(): Promise<void>;
  /** What reads the same rows in the same order, and how long that takes as a whole process, in seconds. */
  readonly reader: string;
  readSeconds(): number;
  stop(): Promise<void>;
}

const BARE_READ = fileURLToPath(new URL("bare-read.ts", import.meta.url));
const ROWS = "SELECT id, company_name, data_source_id, plan, seats FROM customers ORDER BY id";

export async function benchPostgres(): Promise<BenchDatabase> {
  const { url, stop } = await startPostgres({ durable: true, settings: { max_wal_size: "4GB" } });
  return {
    name: "PostgreSQL",
    url,
    createCustomers: (count) => createCustomers(url, count),
    tidy: async () => {
      const client = new pg.Client(url);
      await client.connect();
      await client.query("VACUUM ANALYZE groupsync_groups");
      await client.end();
    },
    reader: "psql \\copy",
    readSeconds: () =>
      seconds(() =>
        execFileSync("psql", [url, "-qc", `\\copy (${ROWS} COLLATE "C") TO '/dev/null'`], INHERIT),
      ),
    stop,
  };
}

export async function benchMariadb(): Promise<BenchDatabase> {
  const { url: server, stop } = await startMariadb({ durable: true });
  const url = new URL("/bench", server).href;
  const query = async (...statements: readonly string[]): Promise<void> => {
    const connection = await mysql.createConnection(server);
    for (const statement of statements) await connection.query(statement);
    await connection.end();
  };
  return {
    name: "MariaDB",
    url,
    createCustomers: (count) =>
      query(
        "DROP DATABASE IF EXISTS bench",
        "CREATE DATABASE bench CHARACTER SET utf8mb4",
        `CREATE TABLE bench.customers (id varchar(64) PRIMARY KEY, company_name varchar(200),
           data_source_id varchar(64), plan varchar(20), seats int)`,
        `INSERT INTO bench.customers
         SELECT concat('tenant-', seq), concat('Company ', seq), concat('ds-', seq), if(seq % 3 = 0, 'gold', 'basic'),
           seq % 500
         FROM bench.seq_1_to_${count} ORDER BY md5(seq)`,
        "ANALYZE TABLE bench.customers",
      ),
    tidy: () => query("ANALYZE TABLE bench.groupsync_groups"),
    reader: "a bare mysql2 stream",
    readSeconds: () =>
      seconds(() => execFileSync(process.execPath, ["--import", "tsx", BARE_READ, url], INHERIT)),
    stop,
  };
}

const INHERIT: ExecFileSyncOptions = { stdio: ["ignore", "ignore", "inherit"] };

function seconds(run: () => unknown): number {
  const startedAt = performance.now();
  run();
  return (performance.now() - startedAt) / 1000;
}
