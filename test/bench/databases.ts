import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import type { TenantQuery } from "../../src/adapters/sql/source/tenant-query.ts";
import type { DatabaseKind } from "../support/databases/database-server.ts";
import { type Row, SERVERS } from "../support/databases/fresh-database.ts";
import { runBare } from "./bare/run.ts";

/** A database of its own for one benchmark. */
export interface BenchDatabase {
  readonly kind: DatabaseKind;
  /** The server's name. */
  readonly name: string;
  readonly url: string;
  /** Makes the database anew, with nothing in it but a customers table of `count` tenants. */
  createCustomers(count: number): Promise<void>;
  /** Adds tenants to the first `count` of them, up to `all`. */
  addCustomers(count: number, all: number): Promise<void>;
  /** Gives the first `count` tenants names that they never had. */
  renameCustomers(count: number): Promise<void>;
  /**
   * Records a group and a token for each tenant, as has been done for the first `count`. Takes the SQL for bucket and
   * digest of a row.
   */
  fillLedger(count: number, row: Pick<TenantQuery, "bucket" | "digest">): Promise<void>;
  countTokens(): Promise<number>;
  /** Does the maintenance of the ledger's tables that the server would do in time. */
  tidy(): Promise<void>;
  /** The name of a program that reads the same rows in the same order. */
  readonly reader: string;
  /** Runs that program to its end. */
  read(): Promise<unknown>;
  drop(): Promise<void>;
}

/** What differs between the kinds of databases. */
interface Words {
  readonly name: string;
  create(database: string): string;
  drop(database: string): string;
  insert(from: number, to: number): readonly string[];
  /** After each change of the customers. */
  readonly maintain: readonly string[];
  /** The number of a tenant. */
  readonly number: string;
  /** SHA-256 of a text in base64url. */
  hashOf(text: string): string;
  readonly tidy: string;
  readonly reader: string;
  read(url: string): Promise<unknown>;
}

const ROWS = "SELECT id, company_name, data_source_id, plan, seats FROM customers";

const WORDS: Readonly<Record<DatabaseKind, Words>> = {
  postgres: {
    name: "PostgreSQL",
    create: (database) => `CREATE DATABASE ${database}`,
    drop: (database) => `DROP DATABASE IF EXISTS ${database} WITH (FORCE)`,
    insert: (from, to) => [
      `INSERT INTO customers
       SELECT 'tenant-' || i, 'Company ' || i, 'ds-' || i, CASE i % 3 WHEN 0 THEN 'gold' ELSE 'basic' END, i % 500
       FROM generate_series(${from}, ${to}) AS i ORDER BY md5(i::text)`,
    ],
    maintain: ["VACUUM ANALYZE customers"],
    number: "substr(id, 8)::integer",
    hashOf: (text) =>
      `rtrim(translate(encode(sha256(convert_to(${text}, 'UTF8')), 'base64'), '+/', '-_'), '=')`,
    tidy: "VACUUM ANALYZE groupsync_groups",
    reader: "psql \\copy",
    read: (url) =>
      promisify(execFile)("psql", [url, "-qc", `\\copy (${ROWS} ORDER BY id COLLATE "C") TO '/dev/null'`]),
  },
  mysql: {
    name: "MariaDB",
    create: (database) => `CREATE DATABASE ${database} CHARACTER SET utf8mb4`,
    drop: (database) => `DROP DATABASE IF EXISTS ${database}`,
    insert: (from, to) => [
      `SET /*!80000 cte_max_recursion_depth */ /*M! max_recursive_iterations */ = ${to}`,
      `INSERT INTO customers
       WITH RECURSIVE numbers (i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM numbers WHERE i < ${to})
       SELECT concat('tenant-', i), concat('Company ', i), concat('ds-', i), if(i % 3 = 0, 'gold', 'basic'), i % 500
       FROM numbers ORDER BY md5(i)`,
    ],
    maintain: ["ANALYZE TABLE customers"],
    number: "CAST(substr(id, 8) AS UNSIGNED)",
    hashOf: (text) =>
      `replace(replace(replace(to_base64(unhex(sha2(${text}, 256))), '+', '-'), '/', '_'), '=', '')`,
    tidy: "ANALYZE TABLE groupsync_groups",
    // There isn't a client program on every machine.
    reader: "a bare mysql2 stream",
    read: (url) => runBare("read.mjs", [url, `${ROWS} ORDER BY CAST(id AS BINARY)`]),
  },
};

/** A database that is not there yet. The url's account has to be allowed to make it. */
export function benchDatabase(kind: DatabaseKind, serverUrl: string): BenchDatabase {
  const database = `groupsync_bench_${randomBytes(6).toString("hex")}`;
  const words = WORDS[kind];
  const url = Object.assign(new URL(serverUrl), { pathname: `/${database}` }).href;
  const onServer = (statement: string) => run(kind, serverUrl, statement);
  const inside = async (...statements: readonly string[]) => void (await run(kind, url, ...statements));
  const drop = async () => void (await onServer(words.drop(database)));
  let renamed = 0;
  return {
    kind,
    name: words.name,
    url,
    async createCustomers(count) {
      await drop();
      await onServer(words.create(database));
      await inside(
        `CREATE TABLE customers (id varchar(64) PRIMARY KEY, company_name varchar(200),
           data_source_id varchar(64), plan varchar(20), seats int)`,
        ...words.insert(1, count),
        ...words.maintain,
      );
    },
    addCustomers: (count, all) => inside(...words.insert(count + 1, all), ...words.maintain),
    renameCustomers: (count) =>
      inside(
        `UPDATE customers SET company_name = concat(id, ' no. ${++renamed}') WHERE ${words.number} <= ${count}`,
        ...words.maintain,
      ),
    fillLedger: (count, row) => inside(...fill(row, `${words.number} > ${count}`, words.hashOf)),
    async countTokens() {
      const [row] = await run(kind, url, "SELECT count(*) AS count FROM groupsync_tokens");
      return Number(row?.count);
    },
    tidy: () => inside(words.tidy),
    reader: words.reader,
    read: () => words.read(url),
    drop,
  };
}

/** The JSON by which a group is compared, as SQL. */
const GROUP = `concat('{"mapping":{"40":"', data_source_id, '"},"name":"', company_name, '","properties":{"plan":"', plan,
  '","seats":', seats, '},"user_group_id":"', id, '"}')`;

/** The token of a tenant, as SQL: as long as the service's. */
const TOKEN = "concat('0123456789012345678901234567890123456789-', id)";

/**
 * The statements that fill ledger and token table from the rows of the tenants that `isNew`, which is SQL, is true of. The
 * times come from the first tenant's group.
 */
const fill = (
  row: Pick<TenantQuery, "bucket" | "digest">,
  isNew: string,
  hashOf: Words["hashOf"],
): readonly string[] => [
  `INSERT INTO groupsync_groups (scope, user_group_id, bucket, row_digest, fingerprint, confirmed,
     token_fingerprint, token_since, verified_at, at_rest, state)
   SELECT g.scope, id, ${row.bucket}, ${row.digest}, ${hashOf(GROUP)}, ${GROUP},
     ${hashOf(TOKEN)}, g.token_since, g.verified_at, 1, replace(g.state, g.name, company_name)
   FROM customers CROSS JOIN (
     SELECT scope, token_since, verified_at, state, company_name AS name
     FROM groupsync_groups JOIN customers ON id = 'tenant-1' WHERE user_group_id = 'tenant-1') AS g
   WHERE ${isNew} ORDER BY id`,
  `INSERT INTO groupsync_tokens (user_group_id, token, updated_at)
   SELECT id, ${TOKEN}, now() FROM customers WHERE ${isNew} ORDER BY id`,
];

/** Runs statements over one connection. Resolves to the rows of the last one. */
async function run(kind: DatabaseKind, url: string, ...statements: readonly string[]): Promise<Row[]> {
  const { query, end } = SERVERS[kind].connect(url);
  try {
    let rows: Row[] = [];
    for (const statement of statements) rows = await query(statement);
    return rows;
  } finally {
    await end();
  }
}
