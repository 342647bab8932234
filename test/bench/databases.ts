import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import mysql from "mysql2/promise";
import pg from "pg";
import { runBare } from "./bare/run.ts";

export type DatabaseKind = "postgres" | "mysql";

/** A database of its own for one benchmark. */
export interface BenchDatabase {
  /** The server's name. */
  readonly name: string;
  readonly url: string;
  /** Makes the database anew, with nothing in it but a customers table of `count` tenants. */
  createCustomers(count: number): Promise<void>;
  /** Does the maintenance of the ledger's tables that the server would do in time. */
  tidy(): Promise<void>;
  /** The name of a program that reads the same rows in the same order. */
  readonly reader: string;
  /** Runs that program to its end. */
  read(): Promise<unknown>;
  drop(): Promise<void>;
}

/** By the url of a server. */
export const DATABASES: Readonly<Record<DatabaseKind, (serverUrl: string) => BenchDatabase>> = {
  postgres: postgresDatabase,
  mysql: mysqlDatabase,
};

/** A name that nothing else on the server has. */
const newName = (): string => `groupsync_bench_${randomBytes(6).toString("hex")}`;

const ROWS = "SELECT id, company_name, data_source_id, plan, seats FROM customers";

function postgresDatabase(serverUrl: string): BenchDatabase {
  const name = newName();
  const url = new URL(`/${name}`, serverUrl).href;
  const drop = () => queryPostgres(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  return {
    name: "PostgreSQL",
    url,
    async createCustomers(count) {
      await drop();
      await queryPostgres(serverUrl, `CREATE DATABASE ${name}`);
      await queryPostgres(
        url,
        "CREATE TABLE customers (id text PRIMARY KEY, company_name text, data_source_id text, plan text, seats integer)",
        `INSERT INTO customers
         SELECT 'tenant-' || i, 'Company ' || i, 'ds-' || i, CASE i % 3 WHEN 0 THEN 'gold' ELSE 'basic' END, i % 500
         FROM generate_series(1, ${count}) AS i ORDER BY md5(i::text)`,
        "VACUUM ANALYZE customers",
      );
    },
    tidy: () => queryPostgres(url, "VACUUM ANALYZE groupsync_groups"),
    reader: "psql \\copy",
    read: () =>
      promisify(execFile)("psql", [url, "-qc", `\\copy (${ROWS} ORDER BY id COLLATE "C") TO '/dev/null'`]),
    drop,
  };
}

async function queryPostgres(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

function mysqlDatabase(serverUrl: string): BenchDatabase {
  const name = newName();
  const url = new URL(`/${name}`, serverUrl).href;
  const drop = () => queryMysql(serverUrl, `DROP DATABASE IF EXISTS ${name}`);
  return {
    name: "MariaDB",
    url,
    async createCustomers(count) {
      await drop();
      await queryMysql(serverUrl, `CREATE DATABASE ${name} CHARACTER SET utf8mb4`);
      await queryMysql(
        url,
        `CREATE TABLE customers (id varchar(64) PRIMARY KEY, company_name varchar(200),
           data_source_id varchar(64), plan varchar(20), seats int)`,
        `SET /*!80000 cte_max_recursion_depth */ /*M! max_recursive_iterations */ = ${count}`,
        `INSERT INTO customers
         WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${count})
         SELECT concat('tenant-', i), concat('Company ', i), concat('ds-', i), if(i % 3 = 0, 'gold', 'basic'), i % 500
         FROM numbers ORDER BY md5(i)`,
        "ANALYZE TABLE customers",
      );
    },
    tidy: () => queryMysql(url, "ANALYZE TABLE groupsync_groups"),
    // There isn't a client program on every machine.
    reader: "a bare mysql2 stream",
    read: () => runBare("read", [url, `${ROWS} ORDER BY CAST(id AS BINARY)`]),
    drop,
  };
}

async function queryMysql(url: string, ...statements: readonly string[]): Promise<void> {
  const connection = await mysql.createConnection(url);
  try {
    for (const statement of statements) await connection.query(statement);
  } finally {
    await connection.end();
  }
}
