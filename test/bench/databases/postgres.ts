import { execFile } from "node:child_process";
import { promisify } from "node:util";
import pg from "pg";
import type { BenchDatabase } from "../databases.ts";
import { COUNT_TOKENS, fill, NUMBER, newName, ROWS } from "./customers.ts";

const hashOf = (text: string): string =>
  `rtrim(translate(encode(sha256(convert_to(${text}, 'UTF8')), 'base64'), '+/', '-_'), '=')`;

const insertCustomers = (from: number, to: number): string => `
  INSERT INTO customers
  SELECT 'tenant-' || i, 'Company ' || i, 'ds-' || i, CASE i % 3 WHEN 0 THEN 'gold' ELSE 'basic' END, i % 500
  FROM generate_series(${from}, ${to}) AS i ORDER BY md5(i::text)`;

export function postgresDatabase(serverUrl: string): BenchDatabase {
  const name = newName();
  const url = new URL(`/${name}`, serverUrl).href;
  const drop = async () => void (await query(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  const run = async (...statements: readonly string[]) => void (await query(url, ...statements));
  let renamed = 0;
  return {
    name: "PostgreSQL",
    url,
    async createCustomers(count) {
      await drop();
      await query(serverUrl, `CREATE DATABASE ${name}`);
      await run(
        "CREATE TABLE customers (id text PRIMARY KEY, company_name text, data_source_id text, plan text, seats integer)",
        insertCustomers(1, count),
        "VACUUM ANALYZE customers",
      );
    },
    addCustomers: (count, all) => run(insertCustomers(count + 1, all), "VACUUM ANALYZE customers"),
    renameCustomers: (count) =>
      run(
        `UPDATE customers SET company_name = id || ' no. ${++renamed}' WHERE ${NUMBER}::integer <= ${count}`,
        "VACUUM ANALYZE customers",
      ),
    fillLedger: (count, row) => run(...fill(row, `${NUMBER}::integer > ${count}`, hashOf)),
    async countTokens() {
      const [row] = await query(url, COUNT_TOKENS);
      return Number(row?.count);
    },
    tidy: () => run("VACUUM ANALYZE groupsync_groups"),
    reader: "psql \\copy",
    read: () =>
      promisify(execFile)("psql", [url, "-qc", `\\copy (${ROWS} ORDER BY id COLLATE "C") TO '/dev/null'`]),
    drop,
  };
}

/** The rows of the last statement. */
async function query(url: string, ...statements: readonly string[]): Promise<readonly Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    let rows: readonly Row[] = [];
    for (const statement of statements) rows = (await client.query<Row>(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

type Row = Readonly<Record<string, unknown>>;
