import mysql, { type RowDataPacket } from "mysql2/promise";
import { runBare } from "../bare/run.ts";
import type { BenchDatabase } from "../databases.ts";
import { COUNT_TOKENS, fill, NUMBER, newName, ROWS } from "./customers.ts";

const hashOf = (text: string): string =>
  `replace(replace(replace(to_base64(unhex(sha2(${text}, 256))), '+', '-'), '/', '_'), '=', '')`;

const insertCustomers = (from: number, to: number): readonly string[] => [
  `SET /*!80000 cte_max_recursion_depth */ /*M! max_recursive_iterations */ = ${to}`,
  `INSERT INTO customers
   WITH RECURSIVE numbers (i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM numbers WHERE i < ${to})
   SELECT concat('tenant-', i), concat('Company ', i), concat('ds-', i), if(i % 3 = 0, 'gold', 'basic'), i % 500
   FROM numbers ORDER BY md5(i)`,
  "ANALYZE TABLE customers",
];

export function mysqlDatabase(serverUrl: string): BenchDatabase {
  const name = newName();
  const url = new URL(`/${name}`, serverUrl).href;
  const drop = async () => void (await query(serverUrl, `DROP DATABASE IF EXISTS ${name}`));
  const run = async (...statements: readonly string[]) => void (await query(url, ...statements));
  let renamed = 0;
  return {
    name: "MariaDB",
    url,
    async createCustomers(count) {
      await drop();
      await query(serverUrl, `CREATE DATABASE ${name} CHARACTER SET utf8mb4`);
      await run(
        `CREATE TABLE customers (id varchar(64) PRIMARY KEY, company_name varchar(200),
           data_source_id varchar(64), plan varchar(20), seats int)`,
        ...insertCustomers(1, count),
      );
    },
    addCustomers: (count, all) => run(...insertCustomers(count + 1, all)),
    renameCustomers: (count) =>
      run(
        `UPDATE customers SET company_name = concat(id, ' no. ${++renamed}')
         WHERE CAST(${NUMBER} AS UNSIGNED) <= ${count}`,
      ),
    fillLedger: (count, row) => run(...fill(row, `CAST(${NUMBER} AS UNSIGNED) > ${count}`, hashOf)),
    async countTokens() {
      const [row] = await query(url, COUNT_TOKENS);
      return Number(row?.count);
    },
    tidy: () => run("ANALYZE TABLE groupsync_groups"),
    // There isn't a client program on every machine.
    reader: "a bare mysql2 stream",
    read: () => runBare("read.mjs", [url, `${ROWS} ORDER BY CAST(id AS BINARY)`]),
    drop,
  };
}

/** The rows of the last statement. */
async function query(url: string, ...statements: readonly string[]): Promise<readonly RowDataPacket[]> {
  const connection = await mysql.createConnection(url);
  try {
    let rows: readonly RowDataPacket[] = [];
    for (const statement of statements) {
      const [answer] = await connection.query<RowDataPacket[]>(statement);
      rows = answer;
    }
    return rows;
  } finally {
    await connection.end();
  }
}
